import type { NotificationDestination, NotificationSource } from '../driver.js';
import { joined } from './joined-names.js';
import { MemoryQueue } from './queue.js';

type Topic = Omit<NotificationDestination, 'kind'>;

/** Queues of notifications: one for each topic, there from the first send or listener on, and one for each pool. */
export class NotificationQueues {
  /** By topic: its own queue, then those of the pools that are bound to it. */
  readonly #bound = new Map<string, Set<MemoryQueue>>();
  readonly #pools = new Map<string, MemoryQueue>();

  /** Where a notification goes. */
  of(topic: Topic): Set<MemoryQueue> {
    const key = joined(topic.exchange, topic.topic);
    const known = this.#bound.get(key);
    if (known) return known;
    const queues = new Set([new MemoryQueue(topic.topic)]);
    this.#bound.set(key, queues);
    return queues;
  }

  /** What a listener reads. */
  declare({ topics, pool, ephemeral }: NotificationSource): MemoryQueue[] {
    if (pool === undefined) return topics.flatMap((topic) => [...this.of(topic)].slice(0, 1));
    const queue = ephemeral ? new MemoryQueue(pool) : this.#pool(pool);
    for (const topic of topics) this.of(topic).add(queue);
    return [queue];
  }

  remove(queue: MemoryQueue): void {
    queue.alive = false;
    for (const queues of this.#bound.values()) queues.delete(queue);
  }

  #pool(name: string): MemoryQueue {
    const queue = this.#pools.get(name) ?? new MemoryQueue(name);
    this.#pools.set(name, queue);
    return queue;
  }
}

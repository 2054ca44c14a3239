import type { WireMessage } from '../message.js';
import type { MemoryConsumer } from './consumer.js';

/** A message in a queue. */
export interface Entry {
  readonly message: WireMessage;
  /** Its place among all that ever came to the queue. */
  readonly serial: number;
  redelivered: boolean;
  /** What it counts for in the queue's limit; 0 for one that found the queue short, or that came back. */
  weight: number;
}

/** A queue this short is not weighed: what is served at once needs no limit. */
const UNWEIGHED = 32;

/** First in, first out; entries that come back go to their old place. Bounded by the broker. */
export class MemoryQueue {
  readonly name: string;
  readonly consumers: MemoryConsumer[] = [];
  /** False once the queue was deleted: nothing goes back to it. */
  alive = true;
  /** Waits for the broker's next round. Managed by the broker. */
  scheduled = false;
  #entries: (Entry | undefined)[] = [];
  #head = 0;
  #bytes = 0;
  #turn = 0;
  #serials = 0;
  #purgedAt = -Infinity;

  constructor(name: string) {
    this.name = name;
  }

  get length(): number {
    return this.#entries.length - this.#head;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(message: WireMessage): void {
    const weight = this.length < UNWEIGHED ? 0 : message.body.size;
    this.#bytes += weight;
    this.#entries.push({ message, serial: this.#serials++, redelivered: false, weight });
  }

  /** Puts an entry back where it was, marked as handed out before. */
  putBack(entry: Entry): void {
    entry.redelivered = true;
    entry.weight = 0;
    let at = this.#head; // near: nothing but other entries that came back is before it
    for (let next = this.#entries[at]; next && next.serial < entry.serial; next = this.#entries[at]) at += 1;
    if (at === this.#head && at > 0) this.#entries[--this.#head] = entry;
    else this.#entries.splice(at, 0, entry);
  }

  shift(): Entry | undefined {
    const entry = this.#entries[this.#head];
    if (!entry) return undefined;
    this.#entries[this.#head] = undefined;
    this.#head += 1;
    this.#bytes -= entry.weight;
    if (this.#head === this.#entries.length) this.#reset([]);
    else if (this.#head > 1024 && this.#head * 2 > this.#entries.length)
      this.#reset(this.#entries.slice(this.#head));
    return entry;
  }

  /** Drops what nobody may run any more; at most once a second, as it looks at every entry. */
  purgeExpired(): void {
    const now = performance.now();
    if (now - this.#purgedAt < 1000) return;
    this.#purgedAt = now;
    const live = this.#entries.slice(this.#head).filter((entry) => !entry?.message.deadline?.expired);
    this.#reset(live);
    this.#bytes = live.reduce((sum, entry) => sum + (entry?.weight ?? 0), 0);
  }

  /** The next consumer in turn that may take a message. */
  nextConsumer(): MemoryConsumer | undefined {
    const { consumers } = this;
    for (let tried = 0; tried < consumers.length; tried += 1) {
      if (this.#turn >= consumers.length) this.#turn = 0;
      const consumer = consumers[this.#turn++];
      if (consumer?.ready) return consumer;
    }
    return undefined;
  }

  attach(consumer: MemoryConsumer): void {
    if (!this.consumers.includes(consumer)) this.consumers.push(consumer);
  }

  detach(consumer: MemoryConsumer): void {
    const index = this.consumers.indexOf(consumer);
    if (index >= 0) this.consumers.splice(index, 1);
  }

  #reset(entries: (Entry | undefined)[]): void {
    this.#entries = entries;
    this.#head = 0;
  }
}

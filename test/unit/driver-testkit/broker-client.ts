// The client library of an imaginary broker, which lives in the process: docs/writing-a-driver.md has a driver for it.

export interface Headers {
  readonly id: string | undefined;
  /** Milliseconds since the epoch. */
  readonly deadline: number | undefined;
}

export interface Incoming {
  readonly body: Uint8Array;
  readonly headers: Headers;
  readonly redelivered: boolean;
  ack(): void;
  requeue(): void;
}

export interface Consumer {
  /** Resolves when the broker has confirmed that it sends no more. */
  cancel(): Promise<void>;
}

interface Stored {
  readonly body: Uint8Array;
  readonly headers: Headers;
  readonly redelivered: boolean;
}

interface Reader {
  readonly queues: readonly string[];
  room: number;
  readonly onMessage: (message: Incoming) => void;
}

class Broker {
  readonly queues = new Map<string, Stored[]>();
  readonly groups = new Map<string, Set<string>>();
  readonly readers = new Set<Reader>();
  #planned = false;

  store(queue: string, message: Stored): boolean {
    this.queues.get(queue)?.push(message);
    this.plan();
    return this.queues.has(queue);
  }

  plan(): void {
    if (this.#planned) return;
    this.#planned = true;
    setImmediate(() => {
      this.#planned = false;
      this.#serve();
    });
  }

  /** One message for each reader, in turns, until nobody has room or nothing is left. */
  #serve(): void {
    for (let busy = true; busy;) {
      busy = false;
      for (const reader of this.readers) busy = this.#serveOne(reader) || busy;
    }
  }

  #serveOne(reader: Reader): boolean {
    const queue = reader.queues.find((name) => (this.queues.get(name)?.length ?? 0) > 0);
    const message = reader.room > 0 && queue !== undefined ? this.queues.get(queue)?.shift() : undefined;
    if (message === undefined || queue === undefined) return false;
    reader.room -= 1;
    const settle = (): void => {
      reader.room += 1;
      this.plan();
    };
    const requeue = (): void => {
      this.queues.get(queue)?.unshift({ ...message, redelivered: true });
      settle();
    };
    reader.onMessage({ ...message, ack: settle, requeue });
    return true;
  }
}

const brokers = new Map<string, Broker>();

export class Client {
  readonly #broker: Broker;

  constructor(url: string) {
    this.#broker = brokers.get(url) ?? new Broker();
    brokers.set(url, this.#broker);
  }

  async declare(queue: string, group?: string): Promise<void> {
    if (!this.#broker.queues.has(queue)) this.#broker.queues.set(queue, []);
    if (group === undefined) return;
    const members = this.#broker.groups.get(group) ?? new Set();
    this.#broker.groups.set(group, members.add(queue));
  }

  async remove(queue: string): Promise<void> {
    this.#broker.queues.delete(queue);
    for (const members of this.#broker.groups.values()) members.delete(queue);
  }

  /** Resolves when the broker has the message; false: there is no such queue. */
  async publish(queue: string, body: Uint8Array, headers: Headers): Promise<boolean> {
    return this.#broker.store(queue, { body, headers, redelivered: false });
  }

  /** To all queues of the group. */
  async publishToGroup(group: string, body: Uint8Array, headers: Headers): Promise<boolean> {
    for (const queue of this.#broker.groups.get(group) ?? []) await this.publish(queue, body, headers);
    return true;
  }

  async consume(
    queues: readonly string[],
    credit: number,
    onMessage: (message: Incoming) => void,
  ): Promise<Consumer> {
    const reader: Reader = { queues, room: credit, onMessage };
    this.#broker.readers.add(reader);
    this.#broker.plan();
    return {
      cancel: async () => {
        this.#broker.readers.delete(reader);
      },
    };
  }

  async connect(): Promise<void> {}

  async close(): Promise<void> {}
}

import { setTimeout as pause } from 'node:timers/promises';
import type { RpcClient } from '@ebbgate/rpc';
import { eventually, within } from '../support/rigs/deadline.js';

const KNOWN = new Set(['ERR_DELIVERY', 'ERR_TIMEOUT']);

let numbers = 0;

/** Calls and casts that go on until told otherwise, and what became of them. */
export class Traffic {
  /** How often each request ran, on whichever server. */
  readonly ran: Map<string, number>;
  /** Casts that resolved. */
  readonly confirmed: string[] = [];
  /** Errors of the documented family. */
  readonly failed: unknown[] = [];
  /** Other errors, wrong answers, and answers to what never ran. */
  readonly wrong: unknown[] = [];
  answered = 0;
  readonly #client: RpcClient;
  readonly #paceMs: number;
  readonly #senders: Promise<unknown>;
  #isOver = false;

  /** What serves it. */
  static endpoint(ran: Map<string, number>): { work: (context: unknown, args: { id: string }) => string } {
    return {
      work: (_context, { id }) => {
        ran.set(id, (ran.get(id) ?? 0) + 1);
        return id;
      },
    };
  }

  /** @param ran - where the endpoints note what they ran @param paceMs - between two requests of one sender */
  constructor(client: RpcClient, ran: Map<string, number>, { senders = 4, paceMs = 5 } = {}) {
    this.#client = client;
    this.ran = ran;
    this.#paceMs = paceMs;
    numbers += 1;
    const names = Array.from({ length: senders }, (_none, name) => `${numbers}-${name}`);
    this.#senders = Promise.all(names.map((name) => this.#send(name)));
  }

  /** Resolves when so many more calls have been answered. */
  async goesOn(what: string, limitMs: number, more = 20): Promise<void> {
    const enough = this.answered + more;
    await eventually(what, limitMs, () => this.answered >= enough).catch((cause: unknown) => {
      throw new Error(`${this.failed.length} failures, the last ${String(this.failed.at(-1))}`, { cause });
    });
  }

  /** Begins no more calls and casts. */
  stop(): void {
    this.#isOver = true;
  }

  /** The same, and resolves when everything has settled; it rejects when that takes longer. */
  async end(limitMs: number): Promise<void> {
    this.stop();
    await within('the end of every call and cast', limitMs, this.#senders);
  }

  /** Confirmed casts that have not run. */
  get missing(): string[] {
    return this.confirmed.filter((id) => !this.ran.has(id));
  }

  get twice(): string[] {
    return [...this.ran].filter(([, times]) => times > 1).map(([id]) => id);
  }

  async #send(name: string): Promise<void> {
    for (let n = 0; !this.#isOver; n += 1) {
      await this.#one(`${name}-${n}`);
      await pause(this.#paceMs);
    }
  }

  async #one(id: string): Promise<void> {
    try {
      await this.#client.cast({}, 'work', { id: `cast-${id}` });
      this.confirmed.push(`cast-${id}`);
      if ((await this.#client.call({}, 'work', { id })) !== id || !this.ran.has(id)) this.wrong.push(id);
      this.answered += 1;
    } catch (error) {
      this.failed.push(error);
      if (!KNOWN.has((error as { code?: string }).code ?? '')) this.wrong.push(error);
    }
  }
}

import { setTimeout as pause } from 'node:timers/promises';
import type { RpcClient } from '@ebbgate/rpc';
import { expect } from 'chai';
import { eventually, within } from '../support/rigs/deadline.js';
import { type Bed, fresh, source } from './bed.js';

const SENDERS = 4;
const PACE_MS = 5;
const CALL_MS = 10_000;
const WAIT_MS = 60_000;
/** What is asked for on a node has its leader there. The hosts are tried in the order of the URL. */
const OPTIONS = {
  rabbit_quorum_queue: true,
  rabbit_transient_quorum_queue: true,
  host_order: 'given',
} as const;
const KNOWN = new Set(['ERR_DELIVERY', 'ERR_TIMEOUT']);

/**
 * A server and a client on a cluster, and senders that cast and call without pause, while somebody does something to its
 * nodes. It keeps what was sent, has run, was confirmed and has failed.
 */
export class ClusterTraffic {
  readonly #bed: Bed;
  readonly #where = source();
  readonly #ran = new Map<string, number>();
  readonly #confirmed: string[] = [];
  readonly #failed: unknown[] = [];
  readonly #wrong: unknown[] = [];
  #client: RpcClient | undefined;
  #answered = 0;
  #isOver = false;
  #sending: Promise<unknown> = Promise.resolve();
  #isWhole: () => boolean = () => false;

  constructor(bed: Bed) {
    this.#bed = bed;
    bed.onEnd(() => (this.#isOver = true)); // a test that fails ends it, too
  }

  /** Makes all queues, by the first host of this URL. */
  async declare(url: string): Promise<void> {
    const declaring = await this.#bed.connected(url, OPTIONS);
    const server = await this.#bed.serve(declaring, { ...this.#where, server: fresh('declaring') }, {});
    await server.stop();
    await server.wait();
    await declaring.close();
  }

  /** Serves and calls by the first hosts of this URL; resolves when the first call is answered. */
  async begin(url: string): Promise<void> {
    const work = (_context: unknown, { id }: { id: string }): string => {
      this.#ran.set(id, (this.#ran.get(id) ?? 0) + 1);
      return id;
    };
    const serving = await this.#bed.connected(url, OPTIONS);
    await this.#bed.serve(serving, this.#where, { work }, { duplicateWindow: 100_000 });
    const calling = await this.#bed.connected(url, OPTIONS);
    this.#client = this.#bed.client(calling, this.#where, { timeoutMs: CALL_MS });
    this.#isWhole = () =>
      [serving, calling].every((each) => each.status().connection === 'connected') &&
      serving.status().listeners.every(({ subscribed }) => subscribed);
    await this.#one(this.#client, 'first'); // which declares the reply queue, too
  }

  /** Sends from now on, until {@link end}. */
  send(): void {
    const client = this.#client;
    if (!client) throw new Error('begin() comes first');
    const sender = async (name: number): Promise<void> => {
      for (let n = 0; !this.#isOver; n += 1) {
        await this.#one(client, `${String(name)}-${String(n)}`);
        await pause(PACE_MS);
      }
    };
    this.#sending = Promise.all(Array.from({ length: SENDERS }, (_none, name) => sender(name)));
  }

  async #one(client: RpcClient, id: string): Promise<void> {
    try {
      await client.cast({}, 'work', { id: `cast-${id}` });
      this.#confirmed.push(`cast-${id}`);
      if ((await client.call({}, 'work', { id })) !== id || !this.#ran.has(id)) this.#wrong.push(id);
      this.#answered += 1;
    } catch (error) {
      this.#failed.push(error);
      if (!KNOWN.has((error as { code?: string }).code ?? '')) this.#wrong.push(error);
    }
  }

  /** Resolves when all is connected and some calls more are answered, with the milliseconds that this took. */
  async goesOn(what: string): Promise<number> {
    const started = performance.now();
    const enough = this.#answered + 20;
    await eventually(what, WAIT_MS, () => this.#answered > enough && this.#isWhole()).catch(
      (cause: unknown) => {
        const last = String(this.#failed.at(-1));
        throw new Error(`${String(this.#failed.length)} failures, the last ${last}`, { cause });
      },
    );
    return Math.round(performance.now() - started);
  }

  /** Sends no more; resolves when all has settled and what was confirmed has run. */
  async end(): Promise<void> {
    this.#isOver = true;
    await within('the end of every send', CALL_MS + WAIT_MS, this.#sending);
    await eventually('every confirmed cast to run', WAIT_MS, () =>
      this.#confirmed.every((id) => this.#ran.has(id)),
    );
    expect(this.#wrong).to.deep.equal([]);
    expect([...this.#ran].filter(([, times]) => times > 1)).to.deep.equal([]);
    expect(this.#answered).to.be.above(this.#failed.length);
  }

  /** In a line, for a report. */
  get sum(): string {
    return `${String(this.#answered)} calls answered, ${String(this.#failed.length)} sends failed`;
  }
}

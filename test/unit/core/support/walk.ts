import type { MessageServer } from '@ebbgate/core';
import type { Clock } from '@sinonjs/fake-timers';
import fc from 'fast-check';
import { turn } from '../../../support/deferred.js';
import { GatedHandler } from './gated-handler.js';
import { standOf } from './scripted-driver.js';

export const OPTIONS = fc.record({
  slots: fc.integer({ min: 1, max: 3 }),
  prefetch: fc.integer({ min: 1, max: 4 }),
  fetched: fc.constantFrom('run', 'release'),
  stallMs: fc.constant(50),
  maxHeldMs: fc.constant(200),
});

/** What is known of a call of `wait()` when it is made. */
interface Awaited {
  readonly running: readonly string[];
  /** Calls of start() so far: a later one may have begun the next cycle. */
  readonly starts: number;
}

/** A server, every call of its three verbs, and what must never be. */
export abstract class Walk {
  readonly handler = new GatedHandler();
  readonly faults: string[] = [];
  readonly #calls: { readonly verb: string; readonly stand: { is: string } }[] = [];
  abstract readonly server: MessageServer<string>;
  /** The last of start() and stop() that was called. */
  last: 'start' | 'stop' = 'stop';
  /** wait() has resolved, and nobody has called start() since. */
  #over = false;
  #starts = 0;

  constructor() {
    const run = this.handler.run.bind(this.handler);
    this.handler.run = (id) => {
      if (this.#over) this.faults.push(`${id} began after wait() had resolved`);
      this.onBegin(id);
      return run(id);
    };
  }

  abstract onBegin(id: string): void;

  start(): void {
    this.last = 'start';
    this.#starts += 1;
    this.#over = false;
    this.#note('start', this.server.start());
  }

  stop(): void {
    this.last = 'stop';
    this.#note('stop', this.server.stop());
  }

  wait(timeoutMs?: number): void {
    const running = this.handler.begun.filter((id) => !this.handler.ended.includes(id));
    const at: Awaited = { running, starts: this.#starts };
    const wait = this.server.wait({ timeoutMs }).then(() => {
      const early = at.running.filter((id) => !this.handler.ended.includes(id));
      if (early.length > 0) this.faults.push(`wait() resolved before ${early.join()} had ended`);
      if (this.#starts > at.starts || this.last === 'start') return;
      this.#over = true;
      if (this.server.running + this.server.waiting > 0)
        this.faults.push('wait() resolved while something ran');
    });
    this.#note('wait', wait);
  }

  end(fails: boolean): void {
    if (this.handler.running > 0) this.handler.end(undefined, fails ? new Error('failed') : undefined);
  }

  check(slots: number): void {
    if (this.handler.running > slots)
      this.faults.push(`${String(this.handler.running)} run in ${String(slots)} slots`);
    if (this.server.running > slots) this.faults.push('more slots taken than there are');
  }

  get unsettled(): string[] {
    return this.#calls.filter(({ stand }) => stand.is === 'pending').map(({ verb }) => verb);
  }

  #note(verb: string, call: Promise<unknown>): void {
    this.#calls.push({ verb, stand: standOf(call) });
  }
}

export type Step<W> = readonly [name: string, run: (walk: W, clock: Clock) => unknown];

export function verbs<W extends Walk>(): fc.Arbitrary<Step<W>>[] {
  const of = (name: string, run: (walk: W) => void): fc.Arbitrary<Step<W>> => fc.constant([name, run]);
  return [
    of('start', (walk) => walk.start()),
    of('start', (walk) => walk.start()),
    of('stop', (walk) => walk.stop()),
    of('wait', (walk) => walk.wait()),
    fc.integer({ min: 0, max: 300 }).map((ms): Step<W> => [`wait ${String(ms)}`, (walk) => walk.wait(ms)]),
    fc.boolean().map((fails): Step<W> => [`end ${String(fails)}`, (walk) => walk.end(fails)]),
    fc.boolean().map((fails): Step<W> => [`end ${String(fails)}`, (walk) => walk.end(fails)]),
    fc
      .constantFrom(5, 60, 300, 1100)
      .map((ms): Step<W> => [`tick ${String(ms)}`, async (_walk, clock) => clock.tickAsync(ms)]),
    of('nothing', () => {}),
  ];
}

export async function walkAlong<W extends Walk>(
  walk: W,
  steps: readonly Step<W>[],
  rush: readonly boolean[],
  slots: number,
  clock: Clock,
) {
  for (const [index, [, run]] of steps.entries()) {
    await run(walk, clock);
    if (!rush[index % rush.length]) await turn();
    walk.check(slots);
  }
}

export const RUSH: fc.Arbitrary<boolean[]> = fc.array(fc.boolean(), { minLength: 1, maxLength: 7 });
/** What a failure shows are the names of the steps. */
export const stepsOf = <W>(kinds: readonly fc.Arbitrary<Step<W>>[]): fc.Arbitrary<Step<W>[]> =>
  fc.array(fc.oneof(...kinds), { minLength: 5, maxLength: 60, size: 'max' });

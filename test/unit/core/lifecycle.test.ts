import { Lifecycle, type LifecyclePhases } from '#core/lifecycle.js';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { deferred, rejectionOf, turn } from '../../support/deferred.js';
import { standOf } from './support/scripted-driver.js';

type Phase = 'open' | 'halt' | 'finish';
type Verb = 'start' | 'stop' | 'wait';

/** Phases that note their begin and end, and fail when two run at a time. */
class NotedPhases implements LifecyclePhases {
  readonly log: string[] = [];
  /** Turns of the event loop that each phase takes. */
  turns: Record<Phase, number> = { open: 1, halt: 1, finish: 1 };
  fails = new Set<Phase>();
  #on: Phase | undefined;

  open(): Promise<void> {
    return this.#run('open');
  }

  halt(): Promise<void> {
    return this.#run('halt');
  }

  finish(): Promise<void> {
    return this.#run('finish');
  }

  async #run(phase: Phase): Promise<void> {
    if (this.#on) throw new Error(`${phase} began while ${this.#on} ran`);
    this.#on = phase;
    this.log.push(phase);
    for (let left = this.turns[phase]; left > 0; left -= 1) await turn();
    this.#on = undefined;
    this.log.push(`/${phase}`);
    if (this.fails.has(phase)) throw new Error(`${phase} failed`);
  }
}

const VERBS: readonly Verb[] = ['start', 'stop', 'wait'];
const CYCLE = 'open /open halt /halt finish /finish';

function sequences(length: number): Verb[][] {
  if (length === 0) return [[]];
  return sequences(length - 1).flatMap((rest) => VERBS.map((verb) => [...rest, verb]));
}

/** All starts go well: what one start, and its end, leave in the log. */
function isWellOrdered(log: readonly string[]): boolean {
  return log
    .join(' ')
    .split(' open')
    .every((cycle, index) => CYCLE.startsWith(index === 0 ? cycle : `open${cycle}`));
}

describe('the life cycle', () => {
  for (const gap of [0, 1, 3]) {
    it(`runs each phase once and in order, whatever the order and overlap of five calls, ${String(gap)} turns apart (CORE-01)`, async () => {
      for (const verbs of sequences(5)) {
        const phases = new NotedPhases();
        phases.turns = { open: 2, halt: 1, finish: 2 };
        const lifecycle = new Lifecycle(phases);
        const early: Verb[] = [];
        const settled: Promise<void>[] = [];
        for (const verb of verbs) {
          const count = (name: string): number => phases.log.filter((each) => each === name).length;
          const begun = count('open');
          const call = lifecycle[verb]().then(() => {
            if (verb === 'start' && count('/open') === 0) early.push(verb);
            if (verb === 'stop' && count('/halt') < begun) early.push(verb);
            if (verb === 'wait' && count('/finish') < begun) early.push(verb);
          });
          settled.push(call);
          for (let left = gap; left > 0; left -= 1) await turn();
        }
        for (let left = 20; left > 0; left -= 1) await turn();
        await lifecycle.stop();
        await lifecycle.wait();
        await Promise.all(settled);
        expect(early, verbs.join(' ')).to.deep.equal([]);
        expect(isWellOrdered(phases.log), `${verbs.join(' ')}: ${phases.log.join(' ')}`).to.equal(true);
        expect(lifecycle.state, verbs.join(' ')).to.be.oneOf(['idle', 'drained']);
      }
    }).timeout(20_000);
  }

  it('gives all callers of a phase its one outcome (CORE-01)', async () => {
    const phases = new NotedPhases();
    const lifecycle = new Lifecycle(phases);
    const starts = [lifecycle.start(), lifecycle.start(), lifecycle.start()];
    await Promise.all(starts);
    const stops = [lifecycle.stop(), lifecycle.stop()];
    const waits = [lifecycle.wait(), lifecycle.wait()];
    await Promise.all([...stops, ...waits]);
    expect(phases.log.join(' ')).to.equal(CYCLE);
  });

  it('lets stop() wait for a start that is under way, and stops then (CORE-01)', async () => {
    const opened = deferred();
    const log: string[] = [];
    const lifecycle = new Lifecycle({
      open: () => opened.promise,
      halt: async () => void log.push('halt'),
      finish: async () => void log.push('finish'),
    });
    const start = standOf(lifecycle.start());
    const stopping = lifecycle.stop();
    const stop = standOf(stopping);
    expect(lifecycle.state).to.equal('stopping');
    await turn();
    expect([start.is, stop.is, ...log]).to.deep.equal(['pending', 'pending']);
    opened.resolve();
    await stopping;
    expect([start.is, ...log]).to.deep.equal(['resolved', 'halt']);
    expect(lifecycle.state).to.equal('stopped');
  });

  it('waits for the cycle before to end when it is started again, and begins a new one (CORE-01)', async () => {
    const finished = deferred();
    const log: string[] = [];
    const lifecycle = new Lifecycle({
      open: async () => void log.push('open'),
      halt: async () => void log.push('halt'),
      finish: async () => {
        await finished.promise;
        log.push('finish');
      },
    });
    await lifecycle.start();
    await lifecycle.stop();
    const again = lifecycle.start();
    await turn();
    expect(log).to.deep.equal(['open', 'halt']);
    finished.resolve();
    await again;
    expect(log).to.deep.equal(['open', 'halt', 'finish', 'open']);
    expect(lifecycle.state).to.equal('listening');
  });

  it('takes back a start that waits for its turn when stop() is called after it (CORE-01)', async () => {
    const phases = new NotedPhases();
    const lifecycle = new Lifecycle(phases);
    await lifecycle.start();
    const calls = [lifecycle.stop(), lifecycle.start(), lifecycle.stop(), lifecycle.wait()];
    await Promise.all(calls);
    expect(phases.log.join(' ')).to.equal(CYCLE);
    expect(lifecycle.state).to.equal('drained');
  });

  it('runs no second start when a phase, or what it tells, calls start() from within (CORE-01)', async () => {
    let opens = 0;
    const opened = deferred();
    const inner: Promise<void>[] = [];
    const lifecycle: Lifecycle = new Lifecycle({
      open: () => {
        opens += 1;
        inner.push(lifecycle.start());
        return opened.promise;
      },
      halt: async () => void inner.push(lifecycle.stop()),
      finish: async () => {},
    });
    const start = lifecycle.start();
    await turn();
    const stands = inner.map(standOf);
    await turn();
    expect(stands.map(({ is }) => is)).to.deep.equal(['pending']); // none resolves early
    opened.resolve();
    await start;
    await lifecycle.stop();
    await Promise.all([...inner, lifecycle.wait()]);
    expect(opens).to.equal(1);
  });

  it('stops, waits and starts over at any time when nothing was ever started (CORE-02)', async () => {
    const phases = new NotedPhases();
    const lifecycle = new Lifecycle(phases);
    await Promise.all([lifecycle.stop(), lifecycle.wait(), lifecycle.stop()]);
    expect(phases.log).to.deep.equal([]);
    expect(lifecycle.state).to.equal('idle');
    await lifecycle.start();
    expect(lifecycle.state).to.equal('listening');
  });

  for (const alsoFails of [[], ['halt'], ['finish'], ['halt', 'finish']] as Phase[][]) {
    const also = alsoFails.length === 0 ? '' : `, and ${alsoFails.join(' and ')} fail too`;
    it(`closes what a failed start had opened, keeps its error and may start again${also} (CORE-02)`, async () => {
      const phases = new NotedPhases();
      phases.fails = new Set(['open', ...alsoFails]);
      const lifecycle = new Lifecycle(phases);
      const wait = lifecycle.wait();
      const starts = [lifecycle.start(), lifecycle.start()];
      for (const start of starts) expect((await rejectionOf(start)).message).to.equal('open failed');
      await wait;
      expect(phases.log.join(' ')).to.equal(CYCLE);
      expect(lifecycle.state).to.equal('idle');
      await Promise.all([lifecycle.stop(), lifecycle.wait()]);
      phases.fails.clear();
      await lifecycle.start();
      expect(lifecycle.state).to.equal('listening');
    });
  }

  it('resolves stop() and wait() called while a start fails, which keeps its error (CORE-02)', async () => {
    const phases = new NotedPhases();
    phases.fails.add('open');
    const lifecycle = new Lifecycle(phases);
    const start = lifecycle.start();
    await turn();
    const ends = [lifecycle.stop(), lifecycle.wait(), lifecycle.wait(), lifecycle.stop()];
    expect((await rejectionOf(start)).message).to.equal('open failed');
    await Promise.all(ends);
    expect(phases.log.join(' ')).to.equal(CYCLE);
    expect(lifecycle.state).to.equal('idle');
  });

  it('keeps wait() waiting until a second start, which was stopped and failed, is closed (CORE-01)', async () => {
    const [failing, finished] = [deferred(), deferred()];
    let opens = 0;
    const lifecycle = new Lifecycle({
      open: () => (++opens === 1 ? Promise.resolve() : failing.promise),
      halt: async () => {},
      finish: () => (opens === 1 ? Promise.resolve() : finished.promise),
    });
    await lifecycle.start();
    await lifecycle.stop();
    const again = rejectionOf(lifecycle.start());
    const wait = standOf(lifecycle.wait());
    await turn();
    const stop = standOf(lifecycle.stop());
    failing.reject(new Error('refused'));
    expect((await again).message).to.equal('refused');
    await turn();
    expect([wait.is, stop.is]).to.deep.equal(['pending', 'pending']);
    finished.resolve();
    await turn();
    expect([wait.is, stop.is]).to.deep.equal(['resolved', 'resolved']);
  });

  it('finishes also when ending the intake failed, and tells stop() why (CORE-02)', async () => {
    const phases = new NotedPhases();
    phases.fails.add('halt');
    const lifecycle = new Lifecycle(phases);
    await lifecycle.start();
    const [first, second] = [lifecycle.stop(), lifecycle.stop()];
    expect((await rejectionOf(first)).message).to.equal('halt failed');
    expect((await rejectionOf(second)).message).to.equal('halt failed');
    await lifecycle.wait();
    expect(phases.log.join(' ')).to.equal(CYCLE);
    expect(lifecycle.state).to.equal('drained');
  });
});

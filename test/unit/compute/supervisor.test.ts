import { expect } from 'chai';
import { describe, it } from 'mocha';
import { silentLogger } from '@ebbgate/core';
import { type Part, Supervisor } from '#compute/main/supervisor.js';

/** A part that ends when the test says so. */
class FakePart implements Part {
  readonly name: string;
  readonly ended: Promise<number>;
  readonly heard: string[];
  end: (code: number) => void = () => undefined;

  constructor(name: string, heard: string[]) {
    this.name = name;
    this.heard = heard;
    this.ended = new Promise((resolve) => {
      this.end = resolve;
    });
  }

  drain(withinMs: number): void {
    this.heard.push(`drain ${this.name} ${Number.isFinite(withinMs) ? 'in time' : 'without limit'}`);
  }

  endAtOnce(): void {
    this.heard.push(`end ${this.name}`);
  }

  reload(): void {
    this.heard.push(`reload ${this.name}`);
  }
}

function supervise(limitMs = 60_000) {
  const heard: string[] = [];
  const part = (name: string): FakePart => new FakePart(name, heard);
  const [a, b, conductor, scheduler] = [part('a'), part('b'), part('conductor'), part('scheduler')];
  const stages = [[a, b], [conductor], [scheduler]];
  const supervisor = new Supervisor({ stages, gracefulShutdownTimeoutMs: limitMs, logger: silentLogger });
  return { supervisor, heard, a, b, conductor, scheduler };
}

/** Lets everything run that is due. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('several parts as one program', () => {
  it('drain in stages: the hosts, then what they need; a further SIGTERM changes nothing (COMP-20, GS-106)', async () => {
    const { supervisor, heard, a, b, conductor, scheduler } = supervise();
    supervisor.terminate('SIGTERM');
    supervisor.terminate('SIGTERM');
    expect(heard).to.deep.equal(['drain a in time', 'drain b in time']);
    a.end(0);
    await settled();
    expect(heard).to.have.length(2);
    b.end(0);
    await settled();
    expect(heard.slice(2)).to.deep.equal(['drain conductor in time']);
    conductor.end(0);
    await settled();
    expect(heard.slice(3)).to.deep.equal(['drain scheduler in time']);
    scheduler.end(0);
    expect(await supervisor.done).to.equal(0);
  });

  it('tell the worst of their exit codes', async () => {
    for (const [codes, worst] of [
      [[0, 3, 1, 0], 3],
      [[3, 4, 0, 1], 4],
      [[0, 0, 0, 1], 1],
    ] as const) {
      const { supervisor, a, b, conductor, scheduler } = supervise();
      supervisor.terminate('SIGINT');
      for (const [index, part] of [a, b, conductor, scheduler].entries()) part.end(codes[index] ?? 0);
      expect(await supervisor.done).to.equal(worst);
    }
  });

  it('end at once at SIGALRM, drained or not, with 4: the time for all is over (GS-106)', async () => {
    const all = ['end a', 'end b', 'end conductor', 'end scheduler'];
    for (const signals of [['SIGALRM'], ['SIGTERM', 'SIGALRM']] as const) {
      const { supervisor, heard } = supervise();
      for (const signal of signals) supervisor.terminate(signal);
      expect(heard).to.deep.equal(['drain a in time', 'drain b in time', ...all]);
      expect(await supervisor.done).to.equal(4);
    }
  });

  it('end at once at SIGINT during the drain, with 130 (COMP-20)', async () => {
    const { supervisor, heard, a, b } = supervise();
    supervisor.terminate('SIGINT');
    supervisor.terminate('SIGINT');
    expect(await supervisor.done).to.equal(130);
    expect(heard.slice(2)).to.deep.equal(['end a', 'end b', 'end conductor', 'end scheduler']);
    a.end(130);
    b.end(130);
    await settled();
    expect(heard).to.have.length(6); // the next stage is not told to drain any more
  });

  it('share one time limit, and end with 4 when it passes (COMP-04, GS-80)', async () => {
    const { supervisor, heard, a, b } = supervise(20);
    supervisor.terminate('SIGTERM');
    a.end(0);
    b.end(0);
    expect(await supervisor.done).to.equal(4);
    expect(heard).to.include.members(['drain conductor in time', 'end conductor', 'end scheduler']);
  });

  it('have no limit when it is 0 (COMP-03)', () => {
    const { supervisor, heard } = supervise(0);
    supervisor.terminate('SIGTERM');
    expect(heard).to.deep.equal(['drain a without limit', 'drain b without limit']);
  });

  it('reload at SIGHUP, but not during the drain (GS-92)', async () => {
    const { supervisor, heard } = supervise();
    supervisor.terminate('SIGHUP');
    expect(heard).to.deep.equal(['reload a', 'reload b', 'reload conductor', 'reload scheduler']);
    supervisor.terminate('SIGTERM');
    supervisor.terminate('SIGHUP');
    expect(heard.filter((one) => one.startsWith('reload'))).to.have.length(4);
    supervisor.terminate('SIGINT');
    await supervisor.done; // and with it the timer of the limit
  });

  it('drain when one of them has ended by itself, and tell its code', async () => {
    const { supervisor, heard, a, b, conductor, scheduler } = supervise();
    conductor.end(1);
    await settled();
    expect(heard).to.deep.equal(['drain a in time', 'drain b in time']);
    for (const part of [a, b, scheduler]) part.end(0);
    expect(await supervisor.done).to.equal(1);
  });
});

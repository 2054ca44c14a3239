import { expect } from 'chai';
import { describe, it } from 'mocha';
import { check, DUPLICATE_WINDOW, type ProblemKind } from '../../soak/checker.js';
import type { Evidence, Run } from '../../soak/evidence.js';
import type { Failure, Noted, SoakRecord, Way } from '../../soak/records.js';

const LOAD = { from: 0, to: 600_000 };
const MIB = 1024 ** 2;
const TIMED_OUT: Failure = {
  code: 'ERR_TIMEOUT',
  outcome: 'unknown',
  text: 'MessagingTimeoutError: no reply',
};
const NOT_SENT: Failure = {
  code: 'ERR_DELIVERY',
  outcome: 'not-sent',
  text: 'MessageDeliveryError: refused',
};

const at = (time: number, noted: Noted): SoakRecord => ({ at: time, ...noted }); // one of them with its time

/** A message of the client, sent and settled. */
function message(id: string, way: Way, failure?: Failure): readonly SoakRecord[] {
  return [at(1, { is: 'sent', id, way }), at(2, { is: 'settled', id, ...(failure && { failure }) })];
}

const begun = (id: string, time = 10): SoakRecord => at(time, { is: 'begun', id });
const taken = (id: string, time = 9): SoakRecord => at(time, { is: 'taken', id });
const handled = (id: string, time = 11): SoakRecord => at(time, { is: 'handled', id });
const heap = (time: number, bytes: number): SoakRecord => at(time, { is: 'heap', bytes });
const HEAPS = [heap(160_000, 10 * MIB), heap(601_000, 10 * MIB)];
/** What goes well beside each fault. */
const WELL = [...message('call', 'call'), ...message('cast', 'cast'), ...HEAPS];

function client(...records: readonly SoakRecord[]): Run {
  return {
    role: 'client',
    run: 'client-1.1',
    end: 'in order',
    endedAt: 700_000,
    records: [...WELL, ...records],
  };
}

function server(name: string, records: readonly SoakRecord[], ended: Partial<Run> = {}): Run {
  return { role: 'server', run: name, end: 'in order', endedAt: 700_000, records, ...ended };
}

function evidenceOf(runs: readonly Run[], more: Partial<Evidence> = {}): Evidence {
  const good = server('server-1.0', [begun('call'), begun('cast')]);
  const promises = { acceptance: 'confirmed', killForgets: false } as const;
  return { promises, runs: [...runs, good], faults: [], load: LOAD, stored: new Map([['soak', 0]]), ...more };
}

function kindsOf(evidence: Evidence): readonly ProblemKind[] {
  return check(evidence).problems.map(({ kind }) => kind);
}

describe('the checker of the soak', () => {
  it('finds nothing wrong with what was sent, done, answered and reported (GS-5)', () => {
    const notified = [...message('n', 'notification'), ...message('late', 'call', TIMED_OUT)];
    const evidence = evidenceOf([client(...notified), server('listener-1.2', [begun('n'), handled('n')])]);
    const { problems, counts } = check(evidence);
    expect(problems).to.deep.equal([]);
    expect([...counts]).to.deep.include.members([
      ['calls answered', 1],
      ['calls reported ERR_TIMEOUT (unknown)', 1],
      ['casts confirmed', 1],
      ['notifications confirmed', 1],
    ]);
  });

  describe('finds what is lost without a report:', () => {
    const lost = client(...message('x', 'cast'));

    it('a confirmed cast that nobody has run (AMQP-03)', () => {
      expect(kindsOf(evidenceOf([lost]))).to.deep.equal(['lost']);
    });

    it('one that a server had taken which was not killed (AMQP-03)', () => {
      expect(kindsOf(evidenceOf([lost, server('server-2.1', [taken('x')])]))).to.deep.equal(['lost']);
    });

    it('one that a server had taken long before it was killed (AMQP-03)', () => {
      const killed = server('server-2.1', [taken('x', 1_000)], { end: 'killed', endedAt: 60_000 });
      expect(kindsOf(evidenceOf([lost, killed]))).to.deep.equal(['lost']);
    });

    it('more than a server has counted as gone (AMQP-03)', () => {
      const two = client(...message('x', 'cast'), ...message('y', 'cast'));
      const gone = at(20, { is: 'gone' });
      expect(kindsOf(evidenceOf([two, server('server-2.1', [taken('x'), taken('y'), gone])]))).to.deep.equal([
        'lost',
      ]);
    });

    it('a confirmed notification that was begun only (AMQP-28)', () => {
      const notified = client(...message('n', 'notification'));
      const listener = server('listener-1.2', [begun('n')], { end: 'killed' });
      expect(kindsOf(evidenceOf([notified, listener]))).to.deep.equal(['lost']);
    });

    it('what is stored in the end (AMQP-03)', () => {
      expect(kindsOf(evidenceOf([client()], { stored: new Map([['soak', 1]]) }))).to.deep.equal(['lost']);
    });

    it('and not a cast that a server had taken when it was killed, or counted as gone (GS-5)', () => {
      const both = client(...message('x', 'cast'), ...message('y', 'cast'));
      const killed = server('server-2.1', [taken('x')], { end: 'killed', endedAt: 10 });
      const cut = server('server-3.1', [taken('y'), at(20, { is: 'gone' })]);
      const { problems, counts } = check(evidenceOf([both, killed, cut]));
      expect(problems).to.deep.equal([]);
      expect(counts.get('casts taken by a server that was killed')).to.equal(1);
      expect(counts.get('casts counted as gone by a server that lost the broker')).to.equal(1);
    });
  });

  describe('finds what was executed twice:', () => {
    const cast = client(...message('x', 'cast'));
    const many = Array.from({ length: DUPLICATE_WINDOW }, (_none, number) => String(number));
    const others = client(...message('x', 'cast'), ...many.flatMap((id) => message(id, 'cast')));
    const siblings = [cast, server('server-2.1', [begun('x')]), server('server-3.1', [begun('x', 20_000)])];

    it('by one server (RPC-19)', () => {
      expect(kindsOf(evidenceOf([cast, server('server-2.1', [begun('x'), begun('x')])]))).to.deep.equal([
        'twice',
      ]);
    });

    it('by one server at the end of its window, and not beyond it (RPC-19)', () => {
      const within = [begun('x'), ...many.slice(1).map((id) => begun(id)), begun('x'), begun('0')];
      const beyond = [begun('x'), ...many.map((id) => begun(id)), begun('x')];
      expect(kindsOf(evidenceOf([others, server('server-2.1', within)]))).to.deep.equal(['twice']);
      expect(kindsOf(evidenceOf([others, server('server-2.1', beyond)]))).to.deep.equal(['twice']);
    });

    it('by two servers, where acceptance is confirmed (RPC-19)', () => {
      const faults = [{ kind: 'cut', at: 15_000, until: 15_000 }] as const;
      expect(kindsOf(evidenceOf(siblings, { faults }))).to.deep.equal(['twice']);
    });

    it('by two servers without a lost link, where acceptance is written (RPC-19)', () => {
      const promises = { acceptance: 'written', killForgets: false } as const;
      expect(kindsOf(evidenceOf(siblings, { promises }))).to.deep.equal(['twice']);
    });

    it('and not what was under way when a link was cut, where acceptance is written (RPC-19)', () => {
      const promises = { acceptance: 'written', killForgets: false } as const;
      const faults = [{ kind: 'cut', at: 15_000, until: 15_000 }] as const;
      const { problems, counts } = check(evidenceOf(siblings, { promises, faults }));
      expect(problems).to.deep.equal([]);
      expect(counts.get('executed again by a sibling after a link was lost')).to.equal(1);
    });

    it('and not what a broker gives again that was killed and has forgotten it (RPC-19)', () => {
      const promises = { acceptance: 'confirmed', killForgets: true } as const;
      const faults = [{ kind: 'broker-kill', at: 15_000, until: 18_000 }] as const;
      expect(kindsOf(evidenceOf(siblings, { promises, faults }))).to.deep.equal([]);
      expect(kindsOf(evidenceOf(siblings, { promises }))).to.deep.equal(['twice']);
      const before = [{ kind: 'broker-kill', at: 1, until: 5 }] as const;
      expect(kindsOf(evidenceOf(siblings, { promises, faults: before }))).to.deep.equal(['twice']);
    });

    it('a notification by one listener, and not by two (AMQP-28)', () => {
      const notified = client(...message('n', 'notification'));
      const twice = server('listener-1.2', [handled('n'), handled('n', 12)]);
      expect(kindsOf(evidenceOf([notified, twice]))).to.deep.equal(['twice']);
      const each = ['listener-1.2', 'listener-2.3'].map((name) => server(name, [handled('n')]));
      expect(kindsOf(evidenceOf([notified, ...each]))).to.deep.equal([]);
    });
  });

  for (const [what, kind, runs] of [
    [
      'what failed as not sent and has run (AMQP-02)',
      'untrue',
      [client(...message('x', 'cast', NOT_SENT)), server('s', [begun('x')])],
    ],
    ['a call that was answered and has not run (RPC-01)', 'untrue', [client(...message('x', 'call'))]],
    [
      'a rejection without a code of ours (RPC-01)',
      'undocumented',
      [client(...message('x', 'call', { ...TIMED_OUT, code: '' }))],
    ],
    ['a promise without an end (RPC-01)', 'unsettled', [client(at(1, { is: 'sent', id: 'x', way: 'call' }))]],
    [
      'an unhandled rejection (CORE-11)',
      'unhandled',
      [client(), server('s', [at(1, { is: 'unhandled', text: 'Error: lost' })])],
    ],
    [
      'a process that does not end in order (CORE-05)',
      'ended badly',
      [client(), server('s', [], { end: 'ended with 1: boom' })],
    ],
    [
      'a heap that has grown by more than a tenth (GS-5)',
      'memory',
      [client(), server('s', [heap(200_000, 10 * MIB), heap(601_000, 11.1 * MIB)])],
    ],
  ] as const)
    it(`finds ${what}`, () => {
      expect(kindsOf(evidenceOf(runs))).to.deep.equal([kind]);
    });

  it('lets a heap grow by a tenth, and in less than two minutes by a MiB more (GS-5)', () => {
    const tenth = server('s', [heap(200_000, 10 * MIB), heap(601_000, 10.9 * MIB)]);
    expect(kindsOf(evidenceOf([client(), tenth]))).to.deep.equal([]);
    const short = { load: { from: 0, to: 60_000 } };
    const seen = (end: number): Run => server('s', [heap(16_000, 10 * MIB), heap(61_000, end * MIB)]);
    expect(kindsOf(evidenceOf([client(), seen(11.9)], short))).to.deep.equal([]);
    expect(kindsOf(evidenceOf([client(), seen(12.1)], short))).to.deep.equal(['memory']);
  });

  it('finds a run in which nothing was done, or nobody looked at a heap (GS-5)', () => {
    const idle: Run = { role: 'client', run: 'client-1.1', end: 'in order', endedAt: 1, records: [] };
    expect(kindsOf(evidenceOf([idle]))).to.deep.equal(['memory', 'in vain', 'in vain']);
  });
});

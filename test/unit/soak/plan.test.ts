import { expect } from 'chai';
import { describe, it } from 'mocha';
import { type FaultKind, faultPlan, type PlannedFault } from '../../soak/plan.js';

const KINDS: readonly FaultKind[] = ['broker-kill', 'cut', 'stall', 'server-roll', 'server-kill'];
const EVERY_MS = 1_000;

function first(seed: number, count: number): readonly PlannedFault[] {
  const plan = faultPlan(seed, KINDS, EVERY_MS);
  return Array.from({ length: count }, () => plan.next().value);
}

describe('the plan of the soak', () => {
  it('is the same for a seed, and another for another (GS-5)', () => {
    expect(first(7, 40)).to.deep.equal(first(7, 40));
    expect(first(7, 40)).to.not.deep.equal(first(8, 40));
  });

  it('has each kind once before any comes again, in another order each time (GS-5)', () => {
    const kinds = first(7, 20 * KINDS.length).map(({ kind }) => kind);
    const rounds = Array.from({ length: 20 }, (_none, round) =>
      kinds.slice(round * KINDS.length).slice(0, KINDS.length),
    );
    for (const round of rounds) expect(round).to.have.members(KINDS);
    expect(new Set(rounds.map((round) => round.join())).size).to.be.above(5);
  });

  it('leaves half of the usual time to one and a half between two (GS-5)', () => {
    for (const { afterMs, size, which } of first(7, 100)) {
      expect(afterMs).to.be.within(EVERY_MS / 2, EVERY_MS * 1.5);
      expect(size).to.be.within(0, 1);
      expect(which).to.be.within(0, 1);
    }
  });
});

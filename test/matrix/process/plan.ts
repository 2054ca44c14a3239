import { type Flow, FLOWS } from './flows.js';
import type { Step } from './flow-trace.js';
import { type Party, type Way, WAYS } from '../parties.js';
import type { MatrixCase } from './matrix-case.js';

/** The messages of each flow, when nobody disturbs it. */
export type FlowSteps = ReadonlyMap<string, readonly Step[]>;

/** What the runs are narrowed to; all may be left out. */
export interface Chosen {
  readonly flow?: string | undefined;
  readonly party?: Party | undefined;
  readonly way?: Way | undefined;
  readonly step?: number | undefined;
}

/** The flows of those runs. */
export function flowsOf({ flow }: Chosen): readonly Flow[] {
  return FLOWS.filter(({ name }) => flow === undefined || name === flow);
}

/** Every flow, for each that has a part in it, in both ways. */
function groupsOf(chosen: Chosen): readonly Pick<MatrixCase, 'flow' | 'party' | 'way'>[] {
  const groups = flowsOf(chosen).flatMap(({ name, parties }) =>
    parties.flatMap((party) => WAYS.map((way) => ({ flow: name, party, way }))),
  );
  return groups.filter(
    ({ party, way }) =>
      (chosen.party === undefined || party === chosen.party) &&
      (chosen.way === undefined || way === chosen.way),
  );
}

/** A run for each message of each group. */
export function allCases(steps: FlowSteps, chosen: Chosen, opsServer = true): readonly MatrixCase[] {
  return groupsOf(chosen).flatMap((group) => {
    const count = steps.get(group.flow)?.length ?? 0;
    const numbers = Array.from({ length: count }, (_, index) => index + 1);
    const wanted = chosen.step === undefined ? numbers : [chosen.step];
    return wanted.map((step) => ({ ...group, step, opsServer }));
  });
}

/** Its multiples, cut to what is behind the point, are spread evenly however many there are. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/**
 * One run of each group, its messages spread over the flows; another seed takes others. Of flows that are like others each
 * party is stopped in one of the two ways.
 */
export function representativeCases(
  steps: FlowSteps,
  seed: number,
  chosen: Chosen = {},
): readonly MatrixCase[] {
  return groupsOf(chosen)
    .filter(isRepresentative)
    .map((group, index) => {
      const share = ((index + 1 + seed) * GOLDEN) % 1;
      const step = 1 + Math.floor(share * (steps.get(group.flow)?.length ?? 0));
      return { ...group, step, opsServer: true };
    });
}

function isRepresentative({ flow, party, way }: Pick<MatrixCase, 'flow' | 'party' | 'way'>): boolean {
  const index = FLOWS.findIndex(({ name }) => name === flow);
  const { isLikeOthers = false, parties = [] } = FLOWS[index] ?? {};
  return !isLikeOthers || (index + parties.indexOf(party) + WAYS.indexOf(way)) % 2 === 0;
}

import { type Deed, type Evidence, isOwed, type Run, storiesOf, type Story } from './evidence.js';
import { memoryProblems } from './memory-check.js';
import type { FaultKind } from './plan.js';

export type ProblemKind =
  | 'lost'
  | 'twice'
  | 'untrue'
  | 'undocumented'
  | 'unsettled'
  | 'unhandled'
  | 'memory'
  | 'ended badly'
  | 'in vain';

export interface Problem {
  readonly kind: ProblemKind;
  readonly text: string;
}

/** What was found: the problems, and how often what is none was seen. */
export interface Findings {
  readonly problems: readonly Problem[];
  readonly counts: ReadonlyMap<string, number>;
}

/** `duplicateWindow` of a server and a listener by default: `docs/rpc.md`, `docs/notifications.md`. */
export const DUPLICATE_WINDOW = 1024;
/** What was taken waits no longer than this for the confirmation: a link that is silent for so long is dead. */
const TAKEN_MS = 15_000;
/** A link that was lost may have swallowed what was written so long before. */
const SWALLOWED_MS = 15_000;
const KILLS: ReadonlySet<FaultKind> = new Set<FaultKind>(['broker-kill']);
/** With a process its links go, too. */
const CUTS: ReadonlySet<FaultKind> = new Set<FaultKind>([
  ...(['broker-kill', 'broker-restart', 'cut', 'cut-all', 'stall', 'black-hole', 'cancel'] as const),
  ...(['server-roll', 'server-kill'] as const),
]);

/**
 * Compares what was sent, executed, answered and reported.
 *
 * - **Lost without a report.** What a promise was rejected with is a report: a call that timed out may have run or not. A call that was
 *   answered has run. A cast that resolved has run (AMQP-03), with two exceptions of at-most-once: a server had taken it, by its journal
 *   (`beforeAccept`), and was killed before the handler began (`docs/design/decisions.md` 5); or its server lost the broker between the
 *   acknowledgement and the confirmation of that, did not run it, and counted it as `gone` (`docs/reliability.md`). A notification
 *   that resolved was handled to its end by anybody (`docs/notifications.md`). All servers are there in the end, so what is stored then is lost, too.
 * - **Twice.** By one run of a server never, within its duplicate window (RPC-19, `docs/rpc.md`). By two, with acceptance `confirmed` never
 *   while the broker lives, with `written` only what was under way when a link was cut (`docs/design/decisions.md` 1). A broker that
 *   forgets acknowledgements when it is killed may give again what had run before. Notifications come at least once: one that is handled
 *   to its end twice, by one run, within its window, is a problem.
 * - **Untrue**: what failed as _not sent_ (`docs/errors.md`) has run, or what was answered has not.
 * - **Undocumented**: rejected with no code of `docs/errors.md`; or answered with what belongs to another.
 * - **Unsettled**: a promise without an end. **Unhandled**: a rejection or an exception of which nobody heard (CORE-11).
 * - **Memory**: {@link memoryProblems}. **Ended badly**: after SIGTERM with another code than 0, or not at all.
 * - **In vain**: nothing was done that could have gone wrong.
 */
export function check(evidence: Evidence): Findings {
  const stories = storiesOf(evidence.runs);
  const counts = new Map<string, number>();
  const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);
  for (const story of stories) countStory(story, count);
  const problems = [
    ...lostProblems(stories, count),
    ...stories.flatMap((story) => twiceProblems(story, evidence, count)),
    ...stories.flatMap(sendingProblems),
    ...evidence.runs.flatMap(runProblems),
    ...memoryProblems(evidence),
    ...storedProblems(evidence),
    ...vainProblems(counts),
  ];
  return { problems, counts };
}

function countStory({ way, settled, failure }: Story, count: (what: string) => void): void {
  count(`${way}s sent`);
  if (!settled) return;
  if (!failure) count(way === 'call' ? 'calls answered' : `${way}s confirmed`);
  else
    count(`${way}s reported ${failure.code}${failure.outcome === undefined ? '' : ` (${failure.outcome})`}`);
}

function lostProblems(stories: readonly Story[], count: (what: string) => void): readonly Problem[] {
  const gone = new Map<Run, number>();
  const isExcused = ({ taken }: Story): boolean => {
    if (taken.some(({ run, at }) => run.end === 'killed' && run.endedAt - at < TAKEN_MS)) {
      count('casts taken by a server that was killed');
      return true;
    }
    const by = taken.map(({ run }) => run).find((run) => (gone.get(run) ?? 0) < goneOf(run));
    if (!by) return false;
    gone.set(by, (gone.get(by) ?? 0) + 1);
    count('casts counted as gone by a server that lost the broker');
    return true;
  };
  return stories
    .filter((story) => isOwed(story) && story.way !== 'call')
    .filter((story) => story.way === 'notification' || !isExcused(story))
    .map(({ id, way, taken }) => ({
      kind: 'lost',
      text: `the ${way} ${id} was confirmed and not done${taken.map(({ run }) => `, ${run.run} (${run.end}) had taken it`).join('')}`,
    }));
}

function goneOf({ records }: Run): number {
  return records.filter(({ is }) => is === 'gone').length;
}

function twiceProblems(
  { id, way, begun, handled }: Story,
  evidence: Evidence,
  count: (what: string) => void,
): readonly Problem[] {
  const deeds = way === 'notification' ? handled : begun;
  return deeds.flatMap((deed, index) => {
    const before = deeds.slice(0, index);
    if (before.length === 0) return [];
    const own = before.findLast(({ run }) => run === deed.run);
    if (own && deed.number - own.number <= DUPLICATE_WINDOW)
      return [{ kind: 'twice' as const, text: `${id} was done twice by ${deed.run.run}` }];
    const excuse = way === 'notification' ? 'notifications handled again' : excuseOf(before, deed, evidence);
    if (excuse !== undefined) {
      count(excuse);
      return [];
    }
    const by = [...before, deed].map(({ run, at }) => `${run.run} at ${at}`).join(' and ');
    return [{ kind: 'twice' as const, text: `${id} was done by ${by}` }];
  });
}

/** Why it may have been done once more. */
function excuseOf(
  before: readonly Deed[],
  deed: Deed,
  { promises: { acceptance, killForgets }, faults }: Evidence,
): string | undefined {
  const since = before.at(-1)?.at ?? 0;
  const struck = (kinds: ReadonlySet<FaultKind>, from: number): boolean =>
    faults.some(({ kind, at, until }) => kinds.has(kind) && at <= deed.at && until >= from);
  if (killForgets && struck(KILLS, since)) return 'executed again after the broker was killed';
  if (acceptance === 'written' && struck(CUTS, since - SWALLOWED_MS))
    return 'executed again by a sibling after a link was lost';
  return undefined;
}

function sendingProblems({ id, way, settled, failure, begun }: Story): readonly Problem[] {
  if (!settled) return [{ kind: 'unsettled', text: `the ${way} ${id} has neither resolved nor rejected` }];
  if (!failure && way === 'call' && begun.length === 0)
    return [{ kind: 'untrue', text: `the call ${id} was answered and has not run` }];
  if (failure && !failure.code.startsWith('ERR_'))
    return [{ kind: 'undocumented', text: `the ${way} ${id} was rejected with ${failure.text}` }];
  if (failure?.outcome === 'not-sent' && begun.length > 0)
    return [{ kind: 'untrue', text: `the ${way} ${id} ran, and was not sent: ${failure.text}` }];
  return [];
}

function runProblems({ run, end, records }: Run): readonly Problem[] {
  const isGood = ['in order', 'killed', 'closed'].includes(end);
  const unhandled = records.flatMap((record) =>
    record.is === 'unhandled' ? [{ kind: 'unhandled' as const, text: `${run}: ${record.text}` }] : [],
  );
  return isGood ? unhandled : [...unhandled, { kind: 'ended badly', text: `${run} ${end}` }];
}

function storedProblems({ stored }: Evidence): readonly Problem[] {
  return [...stored]
    .filter(([, messages]) => messages > 0)
    .map(([where, messages]) => ({
      kind: 'lost',
      text: `${messages} messages in ${where} that nobody takes`,
    }));
}

function vainProblems(counts: ReadonlyMap<string, number>): readonly Problem[] {
  return ['calls answered', 'casts confirmed']
    .filter((what) => !counts.has(what))
    .map((what) => ({ kind: 'in vain', text: `${what}: none` }));
}

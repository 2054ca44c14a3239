import type { Findings, ProblemKind } from './checker.js';
import type { Evidence } from './evidence.js';
import { growths, mib } from './memory-check.js';

/** Most problems of one kind that are told one by one. */
const SHOWN = 10;
const KINDS: readonly (readonly [ProblemKind, string])[] = [
  ['lost', 'lost without a report'],
  ['twice', 'executed twice'],
  ['untrue', 'reported untruly'],
  ['undocumented', 'rejected with nothing documented'],
  ['unsettled', 'unsettled promises'],
  ['unhandled', 'unhandled rejections and exceptions'],
  ['memory', 'heaps that grew by more than a tenth'],
  ['ended badly', 'processes that did not end in order'],
  ['in vain', 'nothing was done'],
];

/** What a soak has shown, as lines of text; the last one is the number of problems. */
export function reportOf(evidence: Evidence, { problems, counts }: Findings): readonly string[] {
  const faults = new Map<string, number>();
  for (const { kind } of evidence.faults) faults.set(kind, (faults.get(kind) ?? 0) + 1);
  const heaps = growths(evidence).map(
    ({ run, quarter, end }) =>
      [`heap of ${run}, a quarter … the end`, `${mib(quarter)} … ${mib(end)}`] as const,
  );
  return [
    ...table([...faults].sort().map(([kind, times]) => [`fault: ${kind}`, String(times)])),
    '',
    ...table([...counts].sort().map(([what, times]) => [what, String(times)])),
    '',
    ...table(heaps),
    '',
    ...table(
      KINDS.map(([kind, words]) => [words, String(problems.filter((one) => one.kind === kind).length)]),
    ),
    ...KINDS.flatMap(([kind]) => {
      const its = problems.filter((one) => one.kind === kind);
      const more = its.length > SHOWN ? [`… and ${its.length - SHOWN} more`] : [];
      return [...its.slice(0, SHOWN).map(({ text }) => `PROBLEM (${kind}): ${text}`), ...more];
    }),
    `${problems.length} problems`,
  ];
}

function table(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(0, ...rows.map(([first]) => first.length));
  return rows.map(([first, second]) => `${first.padEnd(width)}  ${second}`);
}

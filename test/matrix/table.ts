import { readFile, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';

/** What has become of what was asked for. */
export const OUTCOMES = ['completed', 'put back', 'refused', 'in ERROR', 'none of these'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** What a table tells of a run. */
export interface Counted {
  readonly flow: string;
  readonly party: string;
  readonly way: string;
  readonly outcome: Outcome;
  readonly problems: readonly string[];
}

const SHOWN = OUTCOMES.slice(0, -1);
const HEAD = ['flow', 'party', 'way', 'runs', ...SHOWN, 'problems'];

/** What has become of each flow, by who was stopped and how, as a Markdown table; rows in the order of the results. */
export function tableOf(results: readonly Counted[]): string {
  const rows = new Map<string, Counted[]>();
  for (const result of results) {
    const { flow, party, way } = result;
    const key = JSON.stringify([flow, party, way]);
    rows.set(key, [...(rows.get(key) ?? []), result]);
  }
  const cells = [...rows.values()].flatMap((its) => its.slice(0, 1).map((first) => rowOf(first, its)));
  return [HEAD, HEAD.map(() => '---'), ...cells, ['all', '', '', ...countsOf(results)]]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n');
}

function rowOf({ flow, party, way }: Counted, its: readonly Counted[]): readonly string[] {
  return [flow, party, way, ...countsOf(its)];
}

function countsOf(its: readonly Counted[]): readonly string[] {
  const outcomes = SHOWN.map((outcome) => its.filter((one) => one.outcome === outcome).length);
  const bad = its.filter(({ problems }) => problems.length > 0).length;
  return [its.length, ...outcomes, bad].map((count) => (count === 0 ? '' : String(count)));
}

/** Puts a text between the marks `<!-- NAME -->` and `<!-- /NAME -->` of a page. */
export async function writeSection(page: string, name: string, text: string): Promise<void> {
  const before = await readFile(page, 'utf8');
  const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [start, end] = [before.indexOf(open), before.indexOf(close)];
  if (start < 0 || end < start) throw new RangeError(`${page} has no ${open} … ${close}`);
  const after = `${before.slice(0, start)}${open}\n\n${text}\n\n${before.slice(end)}`;
  await writeFile(page, await format(after, { ...(await resolveConfig(page)), filepath: page }));
}

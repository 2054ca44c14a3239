import { computeMethods, type MethodRow } from './methods.js';
import { type TopicTable, topicOf, topicTable } from './topic-table.js';

/** The table of compute methods for people, or as JSON. @param topics - as configured; default: as the table has them */
export function methodsText(json: boolean, topics: TopicTable = topicTable()): string {
  if (json) {
    const rows = [...computeMethods].map(([name, row]) => [name, { ...row, topic: topics.rows.get(name) }]);
    return `${JSON.stringify(Object.fromEntries(rows), undefined, 2)}\n`;
  }
  const rows = [...computeMethods].map(([name, row]) => columns(name, row, topicOf(topics, name)));
  const head = ['METHOD', 'KIND', 'TOPIC', 'VERSION', 'SINCE', 'ROUTE', 'ARGUMENTS'];
  const widths = head.map((title, index) =>
    Math.max(title.length, ...rows.map((row) => row[index]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    row.map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index] ?? 0))).join('  ');
  return `${[head, ...rows].map(line).join('\n')}\n`;
}

function columns(name: string, row: MethodRow, topic: string): readonly string[] {
  const args = Object.entries(row.args).map(([arg, kind]) => `${arg}: ${kind}`);
  return [name, row.kind, topic, row.version, row.since, row.route, args.join(', ')];
}

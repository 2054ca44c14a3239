import { COMPUTE_METHODS, computeMethods, type MethodRow } from './methods.js';
import { RPC_TOPIC, RPC_TOPIC_OPS } from './topics.js';

/** The table of compute methods for people, or as JSON. */
export function methodsText(json: boolean): string {
  if (json) return `${JSON.stringify(COMPUTE_METHODS, undefined, 2)}\n`;
  const rows = [...computeMethods].map(([name, row]) => columns(name, row));
  const head = ['METHOD', 'KIND', 'TOPIC', 'VERSION', 'SINCE', 'ROUTE', 'ARGUMENTS'];
  const widths = head.map((title, index) =>
    Math.max(title.length, ...rows.map((row) => row[index]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    row.map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index] ?? 0))).join('  ');
  return `${[head, ...rows].map(line).join('\n')}\n`;
}

function columns(name: string, row: MethodRow): readonly string[] {
  const topic = row.topic === 'ops' ? RPC_TOPIC_OPS : RPC_TOPIC;
  const args = Object.entries(row.args).map(([arg, kind]) => `${arg}: ${kind}`);
  return [name, row.kind, topic, row.version, row.since, row.route, args.join(', ')];
}

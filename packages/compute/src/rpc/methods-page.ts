import { CONDUCTOR_METHODS, CONDUCTOR_NAMESPACE } from './conductor-methods.js';
import { HOST_METHODS, HOST_NAMESPACE } from './host-methods.js';
import { COMPUTE_METHODS, type MethodRow, type MethodTable } from './methods.js';
import { OBJECT_METHODS } from './object-methods.js';
import { SCHEDULER_METHODS } from './scheduler-methods.js';
import { type TopicTable, topicOf, topicTable } from './topic-table.js';
import { CONDUCTOR_TOPIC, SCHEDULER_TOPIC } from './topics.js';

const HEAD = ['method', 'kind', 'topic', 'version', 'since', 'route', 'starts', 'arguments', 'returns'];

const INTRODUCTION = `# The methods of the compute service

<!-- Made by \`ebbgate-compute methods --markdown\`; a test compares the two. -->

This is the table in the code, from which routing, clients and endpoints are made, as a page. \`kind\` says whether an answer is
waited for: \`long-call\` is a call with the long time-out, under the call monitor. \`version\` is what a message carries, \`since\`
the version in which the method appeared. \`starts\` marks what begins an operation: on the ops topic such a message is handed on
when the host drains. A \`?\` behind the kind of an argument allows null. \`--ops-topic\` and \`--topic\` change topics.`;

/** The tables of all methods as a page of the documentation. @param topics - as configured; default: as the table has them */
export function methodsPage(topics: TopicTable = topicTable()): string {
  const sections = [
    section('Compute', '', COMPUTE_METHODS, (name) => topicOf(topics, name)),
    section('Hosts', `Ours alone. Namespace \`${HOST_NAMESPACE}\`.`, HOST_METHODS, () => topics.opsTopic),
    section('Conductor', `Namespace \`${CONDUCTOR_NAMESPACE}\`.`, CONDUCTOR_METHODS, () => CONDUCTOR_TOPIC),
    section('Objects', 'No namespace.', OBJECT_METHODS, () => CONDUCTOR_TOPIC),
    section('Scheduler', '', SCHEDULER_METHODS, () => SCHEDULER_TOPIC),
  ];
  return `${[INTRODUCTION, ...sections].join('\n\n')}\n`;
}

function section(
  title: string,
  words: string,
  table: MethodTable,
  topicFor: (name: string) => string,
): string {
  const rows = Object.entries(table).map(([name, row]) => cells(name, row, topicFor(name)));
  const lines = [HEAD, HEAD.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`);
  return [`## ${title}`, words, lines.join('\n')].filter((text) => text !== '').join('\n\n');
}

function cells(name: string, row: MethodRow, topic: string): readonly string[] {
  const args = Object.entries(row.args).map(([arg, kind]) => `\`${arg}\`: ${kind}`);
  const starts = row.starts ? 'yes' : '';
  return [
    `\`${name}\``,
    row.kind,
    `\`${topic}\``,
    row.version,
    row.since,
    row.route,
    starts,
    args.join(', '),
    row.returns,
  ];
}

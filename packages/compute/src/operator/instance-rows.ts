import { bar } from '../main-job/format.js';
import { migrationEvent } from '../main-job/record-events.js';
import { faultText } from '../objects/instance-fault.js';
import { type Instance, nameOf } from '../objects/instance.js';
import type { Migration } from '../objects/migration.js';
import type { Sight } from './sight.js';
import { textTable } from './text-table.js';

const BAR_WIDTH = 16;
const FAULT_WIDTH = 80;

/** Instances one below the other: what `instance list` prints. */
export function instanceLines({ instances, moves }: Sight): readonly string[] {
  const rows = instances.map((one) => [
    one.get('uuid'),
    nameOf(one),
    ...statesOf(one),
    one.find('host') ?? '-',
    one.find('flavor')?.find('name') ?? '-',
    lastOf(one, moves),
  ]);
  return textTable([['ID', 'NAME', 'STATE', 'TASK', 'HOST', 'FLAVOR', 'MOVE'], ...rows]);
}

/** Hosts, and what is on each: what `instance watch` draws. */
export function cloudLines({ hosts, instances, moves }: Sight): readonly string[] {
  const rowOf = (one: Instance): readonly string[] => [nameOf(one), ...statesOf(one), lastOf(one, moves)];
  const present = instances.filter((one) => one.get('vm_state') !== 'deleted');
  const rows = hosts.flatMap(({ host, state }) => {
    const here = present.filter((one) => one.find('host') === host).map(rowOf);
    const [first = ['-'], ...others] = here;
    return [[host, state, ...first], ...others.map((row) => ['', '', ...row])];
  });
  const known = new Set(hosts.map(({ host }) => host));
  const elsewhere = present.filter((one) => !known.has(one.find('host') ?? ''));
  const lost = elsewhere.map((one) => [one.find('host') ?? '-', '', ...rowOf(one)]);
  return textTable([['HOST', 'IS', 'INSTANCE', 'STATE', 'TASK', 'MOVE'], ...rows, ...lost]);
}

function statesOf(instance: Instance): readonly [string, string] {
  return [instance.get('vm_state'), instance.get('task_state') ?? '-'];
}

/** How far its move is, and, when it is in ERROR, why. */
function lastOf(instance: Instance, moves: Sight['moves']): string {
  const texts = [moveText(moves.get(instance.get('uuid'))), shortFault(instance)];
  return texts.filter((text) => text !== '').join('; ');
}

/** In one short line why an instance is in ERROR; empty when it is not, or nobody knows. */
export function shortFault(instance: Instance): string {
  const text = faultText(instance);
  return text.length > FAULT_WIDTH ? `${text.slice(0, FAULT_WIDTH - 1)}…` : text;
}

/** How far a migration is: `a -> b running [####----]  40 %`. */
export function moveText(migration: Migration | undefined): string {
  if (!migration) return '';
  const { source, dest, status, progress } = migrationEvent(migration, '');
  const isCopied = migration.get('migration_type') === 'live-migration' && status.startsWith('running');
  return `${source} -> ${dest ?? '?'} ${status}${isCopied ? ` ${bar(progress, BAR_WIDTH)}` : ''}`;
}

import { nameOf } from '../objects/instance.js';
import { checkDown, evacuateHost } from '../api/host-evacuation.js';
import { type EvacuationView, evacuationView, type InstanceView } from '../http/evacuation-view.js';
import { bar } from '../main-job/format.js';
import type { TaskState } from '../objects/states.js';
import { Picture } from '../main-job/picture.js';
import { textOf } from './actions.js';
import { LOOK_MS } from './follow.js';
import { checkHost } from './named.js';
import { readParallel } from './operator-options.js';
import { textTable } from './text-table.js';
import type { Terminal } from './terminal.js';
import { OperatorError, type Work } from './work.js';

const BAR_WIDTH = 24;

type Name = (uuid: string) => string;

/**
 * Evacuates all that is on a host that has failed, and shows how it goes. Whoever breaks it off can ask for it again: what
 * was begun goes on meanwhile.
 */
export function evacuateHostWork(host: string, given: Readonly<Record<string, unknown>>): Work {
  const [parallel, target] = [readParallel(given), textOf(given, 'host') ?? null];
  const json = given['json'] === true;
  return async ({ api, apiOf, context }, terminal) => {
    await checkHost(api, host);
    if (target !== null) await checkHost(api, target, '--host: ');
    await checkDown(api, host);
    const present = await api.records.instances.find({ host });
    const names = new Map(present.map((one) => [one.get('uuid'), nameOf(one)]));
    const name: Name = (uuid) => names.get(uuid) ?? uuid;
    const show = json ? () => undefined : viewOn(terminal, name);
    const refused = new Map<string, unknown>();
    const means = {
      records: api.records,
      liveness: api.liveness,
      evacuate: async (uuid: string, seenTask: TaskState) =>
        (await apiOf(uuid)).rebuilds.evacuate(context, uuid, target, { seenTask }),
    };
    const seen = await evacuateHost(
      means,
      {
        ...{ host, parallel, lookMs: LOOK_MS, signal: terminal.signal },
        onLook: (sight) => {
          show(evacuationView(host, sight, true, refused));
        },
      },
      refused,
    );
    const outcome = evacuationView(host, seen, false, refused);
    terminal.out(json ? `${JSON.stringify(outcome)}\n` : `${summary(outcome)}\n`);
    checkOutcome(outcome, name);
  };
}

/** A bar, and what is under way, on a terminal; a line for each change elsewhere. */
function viewOn(terminal: Terminal, name: Name): (view: EvacuationView) => void {
  if (terminal.screen) {
    const picture = new Picture(terminal.screen);
    return (view) => {
      const open = view.instances.filter(({ state }) => state === 'under_way' || state === 'failed');
      picture.draw([
        bar(partOf(view), BAR_WIDTH),
        ...textTable(open.map((one) => rowOf(view.host, one, name))),
      ]);
    };
  }
  const told = new Map<string, string>();
  return ({ host, instances }) => {
    for (const one of instances) {
      const line = rowOf(host, one, name).join('  ').trimEnd();
      if (told.get(one.id) !== line) terminal.out(`${line}\n`);
      told.set(one.id, line);
    }
  };
}

function rowOf(
  host: string,
  { id, state, host: dest, status, reason }: InstanceView,
  name: Name,
): readonly string[] {
  const move = status === null ? '' : `${host} -> ${dest ?? '?'} ${status}`;
  return [name(id), state.replace('_', ' '), reason ?? move];
}

function partOf({ evacuated, instances }: EvacuationView): number {
  return instances.length === 0 ? 1 : evacuated / instances.length;
}

function summary({ host, evacuated, instances }: EvacuationView): string {
  return `${host}: ${evacuated} of ${instances.length} instances are evacuated`;
}

/** @throws OperatorError when not everything is elsewhere */
function checkOutcome({ host, instances }: EvacuationView, name: Name): void {
  const left = instances.filter(({ state }) => state !== 'evacuated');
  if (left.length === 0) return;
  const why = left.map(
    ({ id, reason, status }) => `${name(id)} (${reason ?? `its evacuation: ${String(status)}`})`,
  );
  throw new OperatorError(`Still on ${host}: ${why.join(', ')}`);
}

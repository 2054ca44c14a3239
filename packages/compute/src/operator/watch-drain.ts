import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceRecord } from '../db/repositories.js';
import { Picture } from '../main-job/picture.js';
import { migrationEvent } from '../main-job/record-events.js';
import { type Instance, nameOf } from '../objects/instance.js';
import type { Migration } from '../objects/migration.js';
import type { DrainSight, TaskSight } from '../servicegroup/drain-sight.js';
import { LOOK_MS } from './follow.js';
import { moveText } from './instance-rows.js';
import { newestMove } from './sight.js';
import type { Terminal } from './terminal.js';
import { textTable } from './text-table.js';
import type { CloudView } from './work.js';

/** A drain at one moment. */
export interface DrainView {
  readonly host: string;
  /** State of the service, as its last report told. */
  readonly state: string;
  /** Null before it begins, and when it is over. */
  readonly drain: DrainSight | null;
  /** How long ago that was told. */
  readonly toldMs: number;
  /** What its tasks are about, by uuid. */
  readonly instances: ReadonlyMap<string, Instance>;
  /** Their newest migrations, by the uuid of the instance. */
  readonly moves: ReadonlyMap<string, Migration>;
}

/** A host that is well reports more often, by the default interval. */
const QUIET_MS = 15_000;

/**
 * Shows what a host that drains waits for, since when, and until when: drawn anew on a terminal, elsewhere a line for each
 * change, or an object of JSON. Resolves when there is no more to see: with nothing when the host has ended and left nothing,
 * else with what came instead.
 *
 * @throws what `terminal.signal` aborts with, when the operator has had enough: the drain goes on
 */
export async function watchDrain(
  api: CloudView,
  host: string,
  terminal: Terminal,
  json: boolean,
): Promise<string | undefined> {
  const show = json ? jsonView(terminal) : textView(terminal);
  for (let hasBegun = false; ;) {
    const record = await api.records.services.get('compute', host);
    show(await viewOf(api, record));
    if (record.state === 'exited') return leftBy(record);
    if (hasBegun && record.state !== 'draining') {
      return `${host} was started again before its end was seen: the log of its last run says how that was`;
    }
    if (isSilent(api, record)) {
      return `${host} has not reported for ${wholeSeconds(Date.now() - record.reportedAtMs)}: its process has died, or does not reach the cloud`;
    }
    hasBegun ||= record.state === 'draining';
    await sleep(LOOK_MS, undefined, { signal: terminal.signal });
  }
}

function leftBy({ host, drain }: ServiceRecord): string | undefined {
  return drain ? `What ${host} has left is seen to by its next start` : undefined;
}

/** Too long without a report; that it was forced down is another matter, of which it learns, and ends. */
function isSilent({ liveness }: CloudView, record: ServiceRecord): boolean {
  return !liveness.isUp({ ...record, forcedDown: false });
}

async function viewOf(api: CloudView, record: ServiceRecord): Promise<DrainView> {
  const { host, state, drain, reportedAtMs } = record;
  const uuids = [...new Set(drain?.tasks.flatMap(({ subject }) => subject ?? []))];
  const found = await Promise.all(
    uuids.map((uuid) => api.records.instances.get(uuid).catch(() => undefined)),
  );
  const moves = await Promise.all(uuids.map((uuid) => newestMove(api, uuid)));
  return {
    host,
    state,
    drain,
    toldMs: Math.max(0, Date.now() - reportedAtMs),
    instances: new Map(found.flatMap((one) => (one ? [[one.get('uuid'), one]] : []))),
    moves: new Map(moves.flatMap((one) => (one ? [[one.get('instance_uuid'), one]] : []))),
  };
}

/** The drain on one screen: what is waited for, since when, and how much time is left; at its end, what was left. */
export function drainLines(view: DrainView): readonly string[] {
  const { host, state, drain } = view;
  if (!drain) return [state === 'exited' ? `${host} has ended` : `${host} is ${state}`];
  const { taskCount, tasks } = drain;
  const rows = tasks.map((task) => taskRow(view, task));
  return [
    ...textTable([
      [state === 'exited' ? `${host} has ended, and left ${tasksText(taskCount)}` : drainLine(view, drain)],
    ]),
    ...(rows.length === 0 ? [] : textTable([['TASK', 'INSTANCE', 'AGE', 'MOVE'], ...rows])),
    ...(taskCount > tasks.length ? [`and ${String(taskCount - tasks.length)} more`] : []),
  ];
}

function drainLine({ host, toldMs }: DrainView, drain: DrainSight): string {
  const { reason, step, budgetLeftMs, taskCount } = drain;
  const left = budgetLeftMs === null ? 'without a limit' : `${wholeSeconds(budgetLeftMs - toldMs)} left`;
  const why = reason === null ? '' : ` (${reason})`;
  const quiet = toldMs < QUIET_MS ? '' : `, not heard of for ${wholeSeconds(toldMs)}`;
  return `${host} drains${why}: ${step ?? 'it begins'}, ${tasksText(taskCount)}, ${left}${quiet}`;
}

function tasksText(count: number): string {
  return count === 1 ? '1 task' : `${String(count)} tasks`;
}

function taskRow({ instances, moves, toldMs }: DrainView, task: TaskSight): readonly string[] {
  const { name, subject, ageMs } = task;
  if (subject === null) return [name, '-', wholeSeconds(ageMs + toldMs), ''];
  const instance = instances.get(subject);
  return [
    name,
    instance ? nameOf(instance) : subject,
    wholeSeconds(ageMs + toldMs),
    moveText(moves.get(subject)),
  ];
}

function wholeSeconds(ms: number): string {
  return `${String(Math.max(0, Math.round(ms / 1000)))} s`;
}

function textView(terminal: Terminal): (view: DrainView) => void {
  if (terminal.screen) {
    const picture = new Picture(terminal.screen);
    return (view) => picture.draw(drainLines(view));
  }
  let before = '';
  return (view) => {
    const lines = drainLines({ ...view, toldMs: 0 }); // what only grows older has not changed
    const text = lines.join('\n');
    if (text !== before) terminal.out(`${text}\n`);
    before = text;
  };
}

function jsonView(terminal: Terminal): (view: DrainView) => void {
  let before = '';
  return ({ host, state, drain, moves }) => {
    const tasks = drain?.tasks.map(({ ageMs, progress, ...task }) => ({
      ...task,
      age_s: ageMs / 1000,
      progress: progress ?? copied(moves.get(task.subject ?? '')),
    }));
    const about = drain && {
      reason: drain.reason,
      step: drain.step,
      budget_left_s: drain.budgetLeftMs === null ? null : drain.budgetLeftMs / 1000,
      task_count: drain.taskCount,
      tasks,
    };
    const line = JSON.stringify({ host, state, drain: about });
    if (line !== before) terminal.out(`${line}\n`);
    before = line;
  };
}

/** How much of a move has been copied, from 0 to 1; null when there is none. */
function copied(move: Migration | undefined): number | null {
  return move ? migrationEvent(move, '').progress : null;
}

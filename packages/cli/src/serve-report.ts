import type { RpcServer } from '@ebbgate/rpc';
import {
  type DrainReport,
  exitCodeOf,
  type Service,
  type StepEvent,
  type TaskEvent,
  type TaskSnapshot,
} from '@ebbgate/service';
import { lineText } from './json-text.js';
import type { Output } from './output.js';

/** What is served, for the first line. */
export interface Served {
  readonly url: string;
  readonly servers: readonly {
    readonly role: 'new-request' | 'ops';
    readonly topic: string;
    readonly server: string;
    readonly rpc: RpcServer;
  }[];
}

/** Tells on stdout what becomes of a service: that it listens, that it drains and how far, and what was left. */
export function reportService(output: Output, service: Service, served: Served, everyTask: boolean): void {
  const hearTasks = (): void => {
    service.events.on('task', (event) => {
      tellTask(output, event);
    });
  };
  if (everyTask) hearTasks();
  service.events.on('state', ({ state }) => {
    if (state === 'running') tellListening(output, service, served);
    if (state !== 'draining') return;
    tellDraining(output, service);
    if (!everyTask) hearTasks();
  });
  service.events.on('step', (event) => {
    tellStep(output, event);
  });
  service.events.on('exited', (report) => {
    tellDrained(output, report, served);
  });
}

function tellListening(output: Output, { healthAddress }: Service, { url, servers }: Served): void {
  const places = servers.map(({ role, topic, server }) => ({ role, topic, server }));
  const where = places.map(({ topic, server }) => `topic ${topic}, server ${server}`).join('; ');
  const health = healthAddress && `http://${healthAddress.host}:${healthAddress.port}`;
  output.line(
    lineText(`listening at ${url}: ${where}${health === undefined ? '' : `; health at ${health}/readyz`}`),
    {
      event: 'listening',
      url,
      servers: places,
      health,
    },
  );
}

function tellDraining(output: Output, service: Service): void {
  const { reason, tasks } = service.snapshot();
  output.line(lineText(`draining (${reason ?? ''}): ${tasks.length} running${namesOf(tasks)}`), {
    event: 'draining',
    reason,
    tasks,
  });
}

function tellTask(output: Output, event: TaskEvent): void {
  const { phase, task } = event;
  if (phase === 'opened') {
    output.line(lineText(`  task ${task.name} has begun`), { event: 'task', phase, task });
    return;
  }
  const { failed, left } = event;
  output.line(
    lineText(`  task ${task.name} has ${failed ? 'failed' : 'ended'} after ${task.ageMs} ms; ${left} left`),
    {
      event: 'task',
      phase,
      task,
      failed,
      left,
    },
  );
}

function tellStep(output: Output, step: StepEvent): void {
  if (step.phase === 'started') {
    output.line(`  ${step.name} …`, { event: 'step', ...step });
    return;
  }
  const why = step.error === undefined ? '' : `: ${step.error}`;
  output.line(lineText(`  ${step.name} ${step.outcome} in ${step.durationMs} ms${why}`), {
    event: 'step',
    ...step,
  });
}

function tellDrained(output: Output, report: DrainReport, { servers }: Served): void {
  const { outcome, durationMs, unfinished, problems, completed, failed, reason } = report;
  const handled = servers.reduce((sum, { rpc }) => sum + rpc.counts.run, 0);
  const counts = { handled, completedInDrain: completed, failedInDrain: failed, left: unfinished.length };
  output.line(
    lineText(
      `drained: ${outcome}, in ${durationMs} ms; ${handled} requests handled, ${unfinished.length} left${namesOf(unfinished)}`,
    ),
    {
      event: 'drained',
      outcome,
      exitCode: exitCodeOf(report),
      reason,
      durationMs,
      ...counts,
      unfinished,
      problems,
    },
  );
  if (!output.json) for (const problem of problems) output.line(lineText(`  problem: ${problem}`), {});
}

/** At most so many are named; the count tells the rest. */
const SHOWN = 10;

function namesOf(tasks: readonly TaskSnapshot[]): string {
  if (tasks.length === 0) return '';
  const more = tasks.length > SHOWN ? ', …' : '';
  return ` (${tasks
    .slice(0, SHOWN)
    .map(({ name, ageMs }) => `${name} for ${ageMs} ms`)
    .join(', ')}${more})`;
}

import type { Logger } from '@ebbgate/core';
import { Cloud } from './main-job/cloud.js';
import { checkInvariants } from './main-job/invariants.js';
import type { JobEvent, View } from './main-job/job-events.js';
import type { JobOptions } from './main-job/job-options.js';
import { Observer } from './main-job/observer.js';
import { RecordedJob } from './main-job/recorded-job.js';
import { Scenario } from './main-job/scenario.js';

/** What the main job is run with. */
export interface JobParts {
  readonly view: View;
  readonly logger: Logger;
  /** Milliseconds since the job began. */
  readonly now: () => number;
}

/** Without ops servers follow-ups are waited for in vain: not for 60 s, as usual, so that one sees the end of it. */
function shortRpcTimeoutMs({ migrationMs }: JobOptions): number {
  return Math.min(1500, Math.max(300, Math.round(migrationMs / 2)));
}

const WITHOUT_OPS =
  'Without ops servers this is what happens: what others had to tell a host that drains waited in the queue of the ' +
  'server that had stopped, so that what had begun there could not be finished.';

/**
 * Runs the main job: the recorded requests of a Nova client, on two or more compute hosts, with SIGTERM in the middle.
 * Resolves with whether all invariants hold.
 */
export async function runMainJob(options: JobOptions, { view, logger, now }: JobParts): Promise<boolean> {
  const emit = (event: JobEvent): void => {
    view.show(now(), event);
  };
  const note = (text: string): void => {
    emit({ kind: 'note', text });
  };
  const recorded = await RecordedJob.read();
  note(`Recorded requests of a Nova client: ${recorded.sources.join(', ')}`);
  const observer = new Observer(emit);
  const cloud: Cloud = new Cloud({
    ...cloudOptions(options, recorded),
    logger,
    portId: (uuid) => (uuid === recorded.instanceUuid ? recorded.portId : undefined),
    onSend: (message) => {
      observer.onSend(cloud, message);
    },
  });
  observer.watch(cloud);
  if (!options.opsServer) {
    note(
      `No ops servers: follow-ups go to topic compute; calls wait ${shortRpcTimeoutMs(options)} ms for a sign of life`,
    );
  }
  await cloud.start();
  const facts = await new Scenario(cloud, recorded, options, note).run();
  note('Stopping everything');
  await cloud.stop();
  const checks = await checkInvariants(cloud, facts, observer);
  const holds = checks.every((check) => check.holds);
  emit({ kind: 'verdict', holds, checks, remark: options.opsServer ? '' : WITHOUT_OPS });
  view.end();
  return holds;
}

function cloudOptions(options: JobOptions, { source, dest }: RecordedJob) {
  const { transport, bootMs, migrationMs, instances, opsServer } = options;
  const workMs = bootMs * 2 + migrationMs * instances;
  return {
    transport,
    bootMs,
    migrationMs,
    opsServer,
    hosts: hostNames(options.hosts, source, dest),
    // With ops servers never used up: a drain ends with its last task.
    tasksMs: opsServer ? workMs * 2 + 30_000 : workMs + shortRpcTimeoutMs(options) * 2,
    ...(!opsServer && { rpcTimeoutMs: shortRpcTimeoutMs(options) }),
  };
}

/** The recorded hosts, then others like them. */
function hostNames(count: number, source: string, dest: string): readonly string[] {
  const names = new Set([source, dest]);
  for (let letter = 0; names.size < count; letter += 1) {
    names.add(`compute-${String.fromCharCode('a'.charCodeAt(0) + letter)}`);
  }
  return [...names];
}

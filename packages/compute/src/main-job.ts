import { type Logger, MessagingTimeoutError, within } from '@ebbgate/core';
import { checkInvariants } from './main-job/invariants.js';
import type { JobCloud } from './main-job/job-cloud.js';
import type { Check, JobEvent, View } from './main-job/job-events.js';
import type { JobOptions } from './main-job/job-options.js';
import { Interruption } from './main-job/interruption.js';
import { type JobDatabase, jobDatabase } from './main-job/job-database.js';
import { inProcessCloud } from './main-job/in-process-cloud.js';
import { Observer } from './main-job/observer.js';
import { ProcessCloud, type ProcessCloudParts } from './main-job/process-cloud.js';
import { RecordedJob } from './main-job/recorded-job.js';
import { Scenario } from './main-job/scenario.js';

/** What the main job is run with. */
export interface JobParts {
  readonly view: View;
  readonly logger: Logger;
  /** Milliseconds since the job began. */
  readonly now: () => number;
  /** Ends the job when it aborts; its reason is an Interruption. */
  readonly interrupted: AbortSignal;
  /** Where the records are kept while the job runs, unless a database was named. */
  readonly temporaryFolder: string;
  /** With these each host, and the conductor, is a process of its own; else all are in this one. */
  readonly processes?: ProcessCloudParts;
}

/** What is cut off gets so long to close its connections. */
const END_MS = 2000;

const WITHOUT_OPS =
  'Without ops servers this is what happens: what others had to tell a host that drains waited in the queue of the ' +
  'server that had stopped, so that what had begun there could not be finished.';

/**
 * Runs the main job: the recorded requests of a Nova client, on two or more compute hosts, with SIGTERM in the middle.
 * Resolves with whether all invariants hold.
 * @throws Interruption when the signal aborts before that; then everything is cut off, as by the end of the process
 */
export async function runMainJob(options: JobOptions, parts: JobParts): Promise<boolean> {
  const database = await jobDatabase(options.database, parts.temporaryFolder);
  try {
    return await runOnDatabase(options, parts, database);
  } finally {
    await database.remove();
  }
}

async function runOnDatabase(
  options: JobOptions,
  parts: JobParts,
  { url, label, lasting }: JobDatabase,
): Promise<boolean> {
  let ended = false;
  const emit = (event: JobEvent): void => {
    if (!ended) parts.view.show(parts.now(), event);
  };
  const note = (text: string): void => {
    emit({ kind: 'note', text });
  };
  /** What was cut off goes on until the process ends; it is not heard any more, as this is the last word. */
  const lastWord = (text: string): void => {
    note(text);
    ended = true;
  };
  /** Told before each step of the story: one that is cut off begins no other. */
  const step = (text: string): void => {
    parts.interrupted.throwIfAborted();
    note(text);
  };
  const { processes } = parts;
  const recorded = await RecordedJob.read({ freshIds: processes !== undefined || lasting });
  note(`Recorded requests of a Nova client: ${recorded.sources.join(', ')}`);
  const observer = new Observer(emit);
  const wishes = { ...cloudWishes(options, recorded, processes ? 1000 : 300), database: url };
  const { cloud, close } = processes
    ? { cloud: new ProcessCloud(wishes, processes, observer), close: () => Promise.resolve() }
    : await inProcessCloud(wishes, recorded, parts.logger, observer);
  observer.watchRecords(cloud.records.events);
  note(`Records: ${label}`);
  if (processes) note('Each compute host, and the conductor, is a process of its own');
  if (!options.opsServer) {
    note(
      `No ops servers: follow-ups go to topic compute; calls wait ${wishes.rpcTimeoutMs} ms for a sign of life`,
    );
  }
  const scenario = new Scenario(cloud, observer, recorded, options, step, parts.interrupted);
  const checks = await orCutOff(runOn(cloud, scenario, observer, step), cloud, lastWord, parts.interrupted);
  await close(); // not when it was cut off: what is left of it may still read and write until the process ends
  const holds = checks.every((check) => check.holds);
  emit({ kind: 'verdict', holds, checks, remark: options.opsServer ? '' : WITHOUT_OPS });
  parts.view.end();
  return holds;
}

async function runOn(
  cloud: JobCloud,
  scenario: Scenario,
  observer: Observer,
  step: (text: string) => void,
): Promise<readonly Check[]> {
  await cloud.start();
  const earlier = new Set((await cloud.records.instances.find({})).map((one) => one.get('uuid')));
  const facts = await within(
    scenario.run(),
    { signal: cloud.broken },
    () => new Error('no time limit was set'),
  );
  step('Stopping everything');
  const { instances, ...remains } = await cloud.stop();
  const ofThisJob = instances.filter((one) => !earlier.has(one.get('uuid')));
  return checkInvariants({ ...remains, instances: ofThisJob }, facts, observer);
}

/** The outcome of the job; when it fails, or the signal aborts, nothing of the cloud is left either. */
async function orCutOff<T>(
  job: Promise<T>,
  cloud: JobCloud,
  lastWord: (text: string) => void,
  signal: AbortSignal,
): Promise<T> {
  const late = (): Error => new MessagingTimeoutError('Not everything was closed in time');
  try {
    return await within(job, { signal }, late);
  } catch (error) {
    await within(cloud.cutOff(), { timeoutMs: END_MS }, late).catch(() => undefined); // the process ends anyhow
    if (error instanceof Interruption) lastWord(error.message);
    throw error;
  }
}

/**
 * @param leastTimeoutMs - without ops servers follow-ups are waited for in vain: not for 60 s, as usual, so that one sees
 * the end of it, but at least so long
 */
function cloudWishes(options: JobOptions, { source, dest }: RecordedJob, leastTimeoutMs: number) {
  const { bootMs, migrationMs, instances, opsServer } = options;
  const workMs = bootMs * 2 + migrationMs * instances;
  const shortMs = Math.min(1500, Math.max(leastTimeoutMs, Math.round(migrationMs / 2)));
  return {
    bootMs,
    migrationMs,
    opsServer,
    transport: options.transport,
    exchange: options.exchange,
    hosts: hostNames(options.hosts, source, dest),
    // With ops servers never used up: a drain ends with its last task.
    tasksMs: opsServer ? workMs * 2 + 30_000 : workMs + shortMs * 2,
    rpcTimeoutMs: opsServer ? 60_000 : shortMs,
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

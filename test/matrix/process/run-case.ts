import type { DaemonEnd } from '../../support/daemon-process.js';
import { eventually, within } from '../../support/rigs/deadline.js';
import { problemsOf } from './checker.js';
import { DESTINATION, type Ended, type Flow, SOURCE, type Stage } from './flows.js';
import type { FlowTrace, Step } from './flow-trace.js';
import type { Outcome } from '../table.js';
import type { Party } from '../parties.js';
import type { MatrixCase, MatrixResult } from './matrix-case.js';
import { CONDUCTORS, HOST_NAMES, type HostName, type MatrixCloud } from './matrix-cloud.js';
import { sightOf, stateOf } from './sight.js';

/** What has begun on a host that drains is complete when that has ended; records on their way to others take this. */
const COMPLETE_MS = 8000;
/** With everybody up again, all has to be in its place by then. */
const SETTLED_MS = 20_000;
/** Whoever has asked is answered by then. */
const ANSWERED_MS = 20_000;

/** A flow under way, and what is known of it. */
interface Run {
  readonly cloud: MatrixCloud;
  readonly flow: Flow;
  readonly stage: Stage;
  readonly trace: FlowTrace;
  readonly asked: Promise<Answer>;
  /** How many requests had arrived at each host before. */
  readonly arrivedBefore: ReadonlyMap<HostName, number>;
}

/** What the user was told. */
type Answer = { readonly value: unknown } | { readonly refusal: string } | 'none';

/** Does a flow whom nobody disturbs; resolves with its messages. @throws Error that tells what is wrong with its end */
export async function runUndisturbed(cloud: MatrixCloud, flow: Flow): Promise<readonly Step[]> {
  return withRun(cloud, flow, async (run) => {
    const { problems, outcome, state } = await settle(run);
    const steps = [...run.trace.steps]; // what is done to tidy up is no part of it
    if (outcome !== 'completed') throw new Error(`${flow.name}, undisturbed: ${outcome}, ${state}`);
    if (problems.length > 0) throw new Error(`${flow.name}, undisturbed: ${problems.join('; ')}`);
    return steps;
  });
}

/** Does one run of the matrix: what is wrong in it is in the result. Afterwards everything is up, and the instance is gone. */
export async function runCase(cloud: MatrixCloud, flow: Flow, one: MatrixCase): Promise<MatrixResult> {
  const startedAt = performance.now();
  return withRun(cloud, flow, async (run) => {
    await reaches(run, one.step);
    const victims = await namesOf(one.party, run);
    const hadBegun = hasBegun(victims, run.trace.steps.slice(0, one.step - 1));
    const problems: string[] = [];
    const ends: Record<string, DaemonEnd> = {};
    const staysAway = one.way === 'TERM' && hadBegun;
    await Promise.all(
      victims.map(async (name) => {
        ends[name] = await cloud.stop(name, one.way);
        if (one.way === 'TERM') problems.push(...drainProblems(cloud, name, ends[name]));
        if (!staysAway) await cloud.launch(name);
      }),
    );
    if (staysAway) {
      const limitMs = problems.length === 0 ? COMPLETE_MS : 0; // what was left is not done by anybody
      problems.push(...(await incompleteness(run, victims, limitMs)));
      await Promise.all(victims.map((name) => cloud.launch(name)));
    }
    const settled = await settle(run);
    if (one.way === 'TERM') problems.push(...doubledRequests(run));
    return {
      ...one,
      transport: cloud.transport,
      message: run.trace.steps[one.step - 1]?.label ?? null,
      ends,
      state: settled.state,
      outcome: settled.outcome,
      problems: [...problems, ...settled.problems, ...badEnd(one, flow, settled)],
      tookMs: Math.round(performance.now() - startedAt),
    };
  });
}

/** Prepares a flow, asks for it, and leaves nothing of it behind. */
async function withRun<T>(cloud: MatrixCloud, flow: Flow, work: (run: Run) => Promise<T>): Promise<T> {
  const stage = await flow.before(cloud);
  const { trace, end } = cloud.trace(stage.uuid);
  try {
    const arrivedBefore = new Map(HOST_NAMES.map((host) => [host, cloud.requestsOf(host).length]));
    const asked = answerOf(flow.ask(cloud, stage));
    const result = await work({ cloud, flow, stage, trace, asked, arrivedBefore });
    await flow.after?.(cloud);
    await cleanUp(cloud, stage);
    return result;
  } finally {
    end();
  }
}

async function answerOf(asked: Promise<unknown>): Promise<Answer> {
  const answered = asked.then(
    (value) => ({ value }),
    (error: unknown) => ({ refusal: error instanceof Error ? error.message : String(error) }),
  );
  return within('an answer', ANSWERED_MS, answered).catch(() => 'none' as const);
}

async function endedOf({ cloud, stage, trace, asked }: Run): Promise<Ended> {
  const answer = await asked;
  const value = typeof answer === 'object' && 'value' in answer ? answer.value : undefined;
  return { sight: await sightOf(cloud, stage.uuid), answer: value, steps: trace.steps };
}

/** Resolves at the message of this number, or when the flow is over before. */
async function reaches({ flow, trace, ...run }: Run, step: number): Promise<void> {
  let isReached = false;
  const reached = trace.reached((_step, number) => number === step).then(() => (isReached = true));
  const isOver = async (): Promise<boolean> =>
    isReached || flow.isDone(await endedOf({ flow, trace, ...run }));
  const over = eventually('that message, or the end', SETTLED_MS, isOver);
  await Promise.race([reached, over]);
}

/** Who is stopped. */
async function namesOf(party: Party, { cloud, flow, stage, trace }: Run): Promise<readonly string[]> {
  if (party === 'conductor') return [await cloud.conductorOf(stage.uuid)];
  if (party === 'source') return [SOURCE];
  const others = trace.steps.map(({ host }) => host).filter((host) => host !== null && host !== flow.dead);
  const chosen = flow.parties.includes('source') ? others.find((host) => host !== SOURCE) : others[0];
  const destination = chosen ?? DESTINATION;
  return party === 'both' ? [SOURCE, destination] : [destination];
}

/**
 * Has the operation begun with all of them? With a host once a message before has reached it; with a conductor in any case,
 * as the other one goes on.
 */
function hasBegun(victims: readonly string[], before: readonly Step[]): boolean {
  return victims.every((name) => isConductor(name) || before.some(({ host }) => host === name));
}

function isConductor(name: string): boolean {
  return (CONDUCTORS as readonly string[]).includes(name);
}

/** A drain that ends in time ends with 0, and leaves nothing of what it had begun. */
function drainProblems(cloud: MatrixCloud, name: string, { code, signal }: DaemonEnd): readonly string[] {
  const left = isConductor(name) ? [] : cloud.leftBy(name as HostName); // the others are hosts
  return [
    ...(code === 0 ? [] : [`${name} ended with ${String(code ?? signal)}`]),
    ...left.map((task) => `${name} has left the task ${task}`),
  ];
}

/** What had begun is complete while those are still away that have drained; what keeps it from that is told. */
async function incompleteness(
  run: Run,
  victims: readonly string[],
  limitMs: number,
): Promise<readonly string[]> {
  const isDone = async (): Promise<boolean> => run.flow.isDone(await endedOf(run));
  const done = await eventually('complete', limitMs, isDone).catch(() => false);
  if (done) return [];
  const waiting = (await run.cloud.queues())
    .filter(({ name, messages }) => messages > 0 && victims.some((victim) => name.endsWith(`.${victim}`)))
    .map(({ name }) => ` ${lastTo(name, run.trace)} waits in ${name}.`);
  const state = stateOf(await sightOf(run.cloud, run.stage.uuid));
  return [
    `It had begun, and is not complete when ${victims.join(' and ')} has drained: ${state}.${waiting.join('')}`,
  ];
}

function lastTo(queue: string, { steps }: FlowTrace): string {
  return steps.findLast(({ topic, host }) => `${topic}.${String(host)}` === queue)?.method ?? 'something';
}

interface Settled {
  readonly outcome: Outcome;
  readonly state: string;
  readonly problems: readonly string[];
}

/** Waits until all is in its place; what is not by then is told. */
async function settle(run: Run): Promise<Settled> {
  const { cloud, flow, stage, asked } = run;
  const answer = await asked;
  let problems: readonly string[] = [];
  const look = async (): Promise<boolean> => {
    problems = await problemsOf(cloud, stage.uuid, { dead: flow.dead });
    return problems.length === 0;
  };
  await eventually('everything is in its place', SETTLED_MS, look).catch(() => undefined);
  const ended = await endedOf(run);
  const unanswered = answer === 'none' ? ['Who asked was not answered'] : [];
  return {
    outcome: outcomeOf(flow, ended, answer),
    state: stateOf(ended.sight),
    problems: [...problems, ...unanswered],
  };
}

function outcomeOf(flow: Flow, ended: Ended, answer: Answer): Outcome {
  if (flow.isDone(ended)) return 'completed';
  if (ended.sight.vm === 'error') return 'in ERROR';
  if (flow.isPutBack?.(ended.sight) !== true) return 'none of these';
  return typeof answer === 'object' && 'refusal' in answer ? 'refused' : 'put back';
}

/** Is it an end that this flow may have? */
function badEnd({ way }: MatrixCase, flow: Flow, { outcome, state }: Settled): readonly string[] {
  const isAllowed =
    outcome === 'in ERROR' ? way === 'KILL' && flow.mayFail === true : outcome !== 'none of these';
  return isAllowed ? [] : [`It ends as ${state}, which is neither what was asked for nor what it was`];
}

/** With nobody killed no request arrives at a host more often than it was sent there. */
function doubledRequests({ cloud, trace, arrivedBefore }: Run): readonly string[] {
  return HOST_NAMES.flatMap((host) => {
    const arrived = cloud.requestsOf(host).slice(arrivedBefore.get(host));
    const sent = trace.steps.filter((step) => step.host === host);
    const times = (all: readonly { readonly method: string }[], name: string): number =>
      all.filter(({ method }) => method === name).length;
    return [...new Set(sent.map(({ method }) => method))]
      .filter((method) => times(arrived, method) > times(sent, method))
      .map((method) => `${method} has arrived at ${host} ${times(arrived, method)} times`);
  });
}

/**
 * Deletes the instance, which a cloud in order can do whatever was done to it; nothing of it is left anywhere.
 * @throws Error that tells what is left
 */
async function cleanUp(cloud: MatrixCloud, { uuid }: Stage): Promise<void> {
  if ((await sightOf(cloud, uuid)).vm !== 'deleted') await cloud.api.actions.delete({}, uuid);
  for (const image of cloud.machines.images.list()) cloud.machines.images.remove(image);
  let left: readonly string[] = [];
  const isGone = async (): Promise<boolean> => {
    const sight = await sightOf(cloud, uuid);
    left = [...(sight.vm === 'deleted' ? [] : [stateOf(sight)]), ...(await problemsOf(cloud, uuid))];
    return left.length === 0;
  };
  await eventually('nothing is left', SETTLED_MS, isGone).catch((error: unknown) => {
    throw new Error(`After its delete: ${left.join('; ')}`, { cause: error });
  });
}

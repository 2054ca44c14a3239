import type { MatrixBroker } from './broker.js';
import { type Flow, FLOWS } from './flows.js';
import type { MatrixCase, MatrixResult } from './matrix-case.js';
import { MatrixCloud } from './matrix-cloud.js';
import type { FlowSteps } from './plan.js';
import { runCase, runUndisturbed } from './run-case.js';

/** How runs are done. */
export interface RunnerOptions {
  readonly opsServer: boolean;
  /** So many clouds, in each of which one run at a time is done: none can blur another. */
  readonly lanes: number;
}

/** Does runs of the matrix in clouds that go on from one to the next. */
export class MatrixRunner {
  readonly #broker: MatrixBroker;
  readonly #options: RunnerOptions;
  readonly #idle: MatrixCloud[] = [];

  constructor(broker: MatrixBroker, options: RunnerOptions) {
    this.#broker = broker;
    this.#options = options;
  }

  /** The messages of these flows. @throws Error when one of them goes wrong although nobody disturbs it */
  async stepsOf(flows: readonly Flow[]): Promise<FlowSteps> {
    const found = await this.#each(flows, async (cloud, flow) => ({
      result: [flow.name, await runUndisturbed(cloud, flow)] as const,
      isClean: true,
    }));
    return new Map(found);
  }

  /** Does all of these; a cloud in which something was wrong is not used again. */
  run(
    cases: readonly MatrixCase[],
    onDone: (result: MatrixResult) => void = () => undefined,
  ): Promise<readonly MatrixResult[]> {
    return this.#each(cases, async (cloud, one) => {
      const result = await tryCase(cloud, one);
      onDone(result);
      return { result, isClean: result.problems.length === 0 };
    });
  }

  async dispose(): Promise<void> {
    await Promise.all(this.#idle.splice(0).map((cloud) => cloud.dispose()));
  }

  /** Results in the order of the jobs. */
  async #each<Job, Result>(
    jobs: readonly Job[],
    work: (cloud: MatrixCloud, job: Job) => Promise<{ readonly result: Result; readonly isClean: boolean }>,
  ): Promise<Result[]> {
    const waiting = jobs.entries();
    const results = new Map<number, Result>();
    const lane = async (): Promise<void> => {
      for (const [index, job] of waiting) {
        const cloud = this.#idle.pop() ?? (await MatrixCloud.start(this.#broker, this.#options));
        let isClean = false;
        try {
          const done = await work(cloud, job);
          results.set(index, done.result);
          ({ isClean } = done);
        } finally {
          if (isClean) this.#idle.push(cloud);
          else await cloud.dispose();
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(this.#options.lanes, jobs.length) }, lane));
    return [...results].sort(([a], [b]) => a - b).map(([, result]) => result);
  }
}

/** What cannot be done at all is a problem of the run, too. */
async function tryCase(cloud: MatrixCloud, one: MatrixCase): Promise<MatrixResult> {
  const flow = FLOWS.find(({ name }) => name === one.flow);
  if (!flow) throw new RangeError(`There is no flow ${one.flow}`);
  const startedAt = performance.now();
  try {
    return await runCase(cloud, flow, one);
  } catch (error) {
    const problems = [error instanceof Error ? error.message : String(error)];
    const tookMs = Math.round(performance.now() - startedAt);
    return {
      ...one,
      transport: cloud.transport,
      message: null,
      ends: {},
      state: '-',
      outcome: 'none of these',
      problems,
      tookMs,
    };
  }
}

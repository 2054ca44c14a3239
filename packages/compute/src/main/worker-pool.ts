import type { Logger } from '@ebbgate/core';
import type { DaemonEvent } from '../main-job/daemon-events.js';
import { endWithParent, whenParentEnds } from './daemon.js';
import type { WorkerDaemonOptions } from './daemon-options.js';
import { Supervisor } from './supervisor.js';
import { Worker, type WorkerMessage } from './worker.js';

/** How a pool is run. */
export interface WorkerPoolOptions {
  readonly options: WorkerDaemonOptions;
  readonly logger: Logger;
  readonly print: (event: DaemonEvent) => void;
  /** The first worker has what the others need: they start after it and drain before it. */
  readonly firstIsOwner: boolean;
  /** Arguments that one worker gets besides those of this process. */
  readonly argsOf: (index: number) => readonly string[];
}

/**
 * Runs a daemon as several processes of the same program, each with its own RPC server on the one topic and its queue
 * (GS-19). This process serves nothing: it hands signals on, starts again what has died, and ends with the worst exit
 * code of its workers.
 */
export async function runWorkers({
  options,
  logger,
  print,
  firstIsOwner,
  argsOf,
}: WorkerPoolOptions): Promise<void> {
  const start = (index: number, after?: Promise<void>): Worker =>
    new Worker({
      name: workerName(options.name, index),
      program: process.argv[1] ?? '',
      args: [...process.argv.slice(2), ...workerArgs(options, index), ...argsOf(index)],
      logger,
      ...(after && { after }),
    });
  const first = start(0);
  const others = Array.from({ length: options.workers - 1 }, (_, index) =>
    start(index + 1, firstIsOwner ? first.serves : undefined),
  );
  const workers = [first, ...others];
  const stages = firstIsOwner ? [others, [first]] : [workers];
  const { gracefulShutdownTimeoutMs } = options.budgets;
  const supervisor = new Supervisor({ stages, gracefulShutdownTimeoutMs, logger });
  supervisor.hearSignals();
  endWithParent(options);
  void Promise.all(workers.map(({ serves }) => serves)).then(() => {
    logger.info({ workers: workers.length }, `${String(workers.length)} workers serve`);
    supervisor.serves();
    print({ kind: 'serves' });
  });
  process.exit(await supervisor.done);
}

/** In a worker: tells the pool that it serves, and drains when the pool has died. */
export function serveForPool(
  { worker }: WorkerDaemonOptions,
  print: (event: DaemonEvent) => void,
): () => void {
  if (!worker) return () => print({ kind: 'serves' });
  whenParentEnds(() => void process.kill(process.pid, 'SIGTERM'));
  const message: WorkerMessage = { kind: 'serves' };
  return () => void process.send?.(message);
}

function workerName(name: string, index: number): string {
  return `${name}-${String(index + 1)}`;
}

/** Given last, they go before the same flags of the pool. */
function workerArgs({ name, health }: WorkerDaemonOptions, index: number): readonly string[] {
  return [
    ...['--worker', '--workers', '1', '--name', workerName(name, index)],
    ...(health === undefined || health === 0 ? [] : ['--health', String(health + index)]),
  ];
}

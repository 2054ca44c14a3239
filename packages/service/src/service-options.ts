import {
  checkMethods,
  ConfigurationError,
  type Logger,
  type MaybePromise,
  refuseUnknown,
} from '@ebbgate/core';
import type { DrainBudgets } from './budgets.js';
import type { DrainReport } from './drain-report.js';
import type { DrainableServer } from './drainable-server.js';
import type { HealthOptions, HealthServer } from './health.js';
import type { DrainJournal, Manager } from './manager.js';
import type { TaskRegistry } from './task-registry.js';

/** What a service is made of. */
export interface ServiceOptions {
  /** What it is: `compute`, `conductor`, … */
  readonly name: string;
  /** Where it is: the server name in its targets. */
  readonly host: string;
  /** What it does besides answering requests. */
  readonly manager?: Manager;
  /** Takes new requests; the first to stop. */
  readonly newRequestServer: DrainableServer;
  /** Takes what belongs to operations under way; serves until the tasks have ended. On the same endpoints. */
  readonly opsServer?: DrainableServer;
  /** What runs. Share it with `taskInterceptor`, which records the servers' requests in it. */
  readonly registry?: TaskRegistry;
  /** What each part of a drain may take; what is left out has its default. */
  readonly budgets?: Partial<DrainBudgets>;
  /**
   * A drain aborts the tasks that were opened with an `abort` and cannot end in the time for tasks: they are put back, and
   * the drain is clean all the same. Default false: they are waited for as all others, and are left at the end of that time.
   */
  readonly abortBeforeDeadline?: boolean;
  /** From one state report to the next; default 10000. */
  readonly reportIntervalMs?: number;
  /** Opens the health endpoints; or takes over those that are open already. It closes them at its end. */
  readonly health?: HealthOptions | HealthServer;
  /** Where a drain writes down what it could not finish. */
  readonly journal?: DrainJournal;
  /** The very last step, after the last report: closes transports and the like. */
  readonly onExit?: (report: DrainReport) => MaybePromise<void>;
  /** Default: none. */
  readonly logger?: Logger;
}

/** How a drain is to end. */
export interface DrainOptions {
  /**
   * What is left of an overall limit that several services of one process share; the sooner of it and the service's own
   * counts.
   */
  readonly withinMs?: number;
}

const SERVER: readonly (keyof DrainableServer)[] = ['start', 'stop', 'wait'];

/** As a record, so that the compiler says when one is missing. */
const OPTIONS: Readonly<Record<keyof ServiceOptions, true>> = {
  name: true,
  host: true,
  manager: true,
  newRequestServer: true,
  opsServer: true,
  registry: true,
  budgets: true,
  abortBeforeDeadline: true,
  reportIntervalMs: true,
  health: true,
  journal: true,
  onExit: true,
  logger: true,
};

/** @throws ConfigurationError (`ERR_CONFIGURATION`) for an unknown option, or one that is missing or of a wrong type */
export function checkServiceOptions(options: ServiceOptions): void {
  refuseUnknown(options, Object.keys(OPTIONS));
  checkText('name', options.name);
  checkText('host', options.host);
  const newRequestServer: unknown = options.newRequestServer; // a caller without types may leave it out
  checkMethods('newRequestServer', newRequestServer ?? {}, SERVER);
  checkMethods('opsServer', options.opsServer, SERVER);
  checkMethods('registry', options.registry, ['open', 'snapshot', 'whenIdle']);
  checkMethods('journal', options.journal, ['write']);
  checkFlag('abortBeforeDeadline', options.abortBeforeDeadline);
  if (options.reportIntervalMs !== undefined) checkInterval(options.reportIntervalMs);
}

function checkText(name: string, value: string): void {
  if (typeof value === 'string' && value !== '') return;
  throw new ConfigurationError(`${name} of a service must be a text that is not empty`);
}

function checkFlag(name: string, value: unknown): void {
  if (value === undefined || typeof value === 'boolean') return;
  throw new ConfigurationError(`${name} of a service must be true or false`);
}

function checkInterval(value: number): void {
  if (typeof value === 'number' && value >= 1 && value <= 2_147_483_647) return;
  throw new ConfigurationError(
    `reportIntervalMs must be a number of milliseconds from 1 to 2147483647, not ${String(value)}`,
  );
}

import { hostname } from 'node:os';
import type { DrainBudgets } from '@ebbgate/service';
import { z } from 'zod';
import type { ListenAddress } from '../http/http-server.js';
import type { ForcedDownStart } from '../compute/fence.js';
import { PLAIN_NAME, PLAIN_NAME_TEXT } from '../plain-name.js';
import { type ApiFlags, apiShape, listenSchema } from './api-flags.js';
import { type CellFlags, cellShape } from './cell-flags.js';
import { checkFlags, complete, type Sources } from './check-flags.js';
import { type NotificationFlags, notificationShape } from './notification-flags.js';
import { exchangeSchema, type RpcOptions } from './rpc-options.js';

/** What all daemons can be told. */
export interface DaemonOptions extends RpcOptions, NotificationFlags {
  readonly transport?: string | undefined;
  /** Package or file with the driver for it. */
  readonly driver?: string | undefined;
  /** Where all topics are. */
  readonly exchange: string;
  /** Seconds. */
  readonly rpcResponseTimeout: number;
  /** Seconds from one state report to the next. */
  readonly reportInterval: number;
  /** Port of the health endpoints. */
  readonly health?: number | undefined;
  /** Address of the health endpoints. */
  readonly healthHost: string;
  readonly logLevel: 'silent' | 'error' | 'warn' | 'info' | 'debug';
  /** Prints what happens, one JSON object a line. */
  readonly events: boolean;
  /** Ends at once when the process that started it has ended. */
  readonly endWithParent: boolean;
  readonly budgets: DrainBudgets;
}

/** What a compute host is told, whether it has a process of its own or not. */
export interface HostDaemonOptions extends DaemonOptions {
  readonly bootMs: number;
  readonly migrationMs: number;
  /** File of what the fake hypervisor is to do otherwise with single guests. */
  readonly fakeOrders?: string | undefined;
  readonly opsServer: boolean;
  readonly maxConcurrentBuilds: number;
  readonly maxConcurrentLiveMigrations: number;
  /** Seconds. */
  readonly recheckInterval: number;
  /** What the machine has. */
  readonly vcpus: number;
  readonly memoryMb: number;
  readonly diskGb: number;
  readonly cpuAllocationRatio: number;
  readonly ramAllocationRatio: number;
  readonly diskAllocationRatio: number;
  readonly availabilityZone?: string | undefined;
  /** What it does when it is forced down at its start. */
  readonly forcedDownStart: ForcedDownStart;
  /** Seconds; 0: never. */
  readonly resizeConfirmWindow: number;
  /** A host that has not reported for so many seconds is down. */
  readonly serviceDownTime: number;
  /** Seconds; 0: at once, -1: never. */
  readonly shelvedOffloadTime: number;
  /** A drain puts back what may be aborted and cannot end in its time. */
  readonly abortBeforeDeadline: boolean;
}

export interface ComputeDaemonOptions extends HostDaemonOptions {
  readonly host: string;
  readonly stateDir: string;
}

/** What those daemons are told of which several share a topic. */
export interface WorkerDaemonOptions extends DaemonOptions {
  readonly name: string;
  /** How many processes. */
  readonly workers: number;
  /** It is one of a pool's. */
  readonly worker: boolean;
}

export interface ConductorDaemonOptions extends WorkerDaemonOptions, CellFlags {
  /** A host that has not reported for so many seconds is down. */
  readonly serviceDownTime: number;
  /** An instance may get its new size on the host where it is. */
  readonly allowResizeToSameHost: boolean;
  /** Who chooses hosts. */
  readonly scheduler: 'rpc' | 'local';
  readonly migrateMaxRetries: number;
  /** Where the records are; absent: as `records` says. */
  readonly database?: string | undefined;
  /** In a database; or those of other conductors. */
  readonly records: 'database' | 'rpc';
  /** Folder of the database, when none is named, and of the journal; absent: one of this user's. */
  readonly stateDir?: string | undefined;
}

export interface SchedulerDaemonOptions extends WorkerDaemonOptions {
  /** Where the records are; absent: a conductor has them. */
  readonly database?: string | undefined;
  /** A host that has not reported for so many seconds is down. */
  readonly serviceDownTime: number;
}

export interface ApiDaemonOptions extends DaemonOptions, ApiFlags, CellFlags {
  readonly name: string;
  /** Where the API is. */
  readonly listen: ListenAddress;
  /** Where the records are; absent: a conductor has them. */
  readonly database?: string | undefined;
  /** A service that has not reported for so many seconds is down. */
  readonly serviceDownTime: number;
}

export interface AllInOneOptions extends HostDaemonOptions, ApiFlags {
  /** Where the API is; absent: nowhere. */
  readonly listen?: ListenAddress | undefined;
  readonly hosts: readonly string[];
  /** Where guests are kept; absent: in a folder of this user's, or in memory when `database` is given. */
  readonly stateDir?: string | undefined;
  /** Where the records are; absent: in SQLite, in the folder of the guests. */
  readonly database?: string | undefined;
  /** How many conductors, and how many schedulers. */
  readonly workers: number;
  readonly migrateMaxRetries: number;
  /** As for conductors. */
  readonly allowResizeToSameHost: boolean;
  /** Path of the socket for the operator, `none`: no socket; absent: one for each user. */
  readonly control?: string | undefined;
}

/** Longest time, in seconds, that a timer can wait for. */
const MAX_S = 2_147_483;

const number = (flag: string, min: number, max: number) =>
  z.coerce
    .number({ error: `--${flag} must be a number` })
    .min(min, { error: `--${flag} must be at least ${min}` })
    .max(max, { error: `--${flag} must be at most ${max}` });
const whole = (flag: string, min: number, max: number) =>
  number(flag, min, max).int({ error: `--${flag} must be a whole number` });
/** Hosts are parts of the names of queues, and names of folders. */
const name = (flag: string) =>
  z.string().regex(PLAIN_NAME, { error: `--${flag} must be ${PLAIN_NAME_TEXT}` });

const common = {
  transport: z.string().optional(),
  driver: z.string().min(1, { error: '--driver must be a package or a file' }).optional(),
  exchange: exchangeSchema,
  config: z.string().optional(),
  computeVersionCap: z.string().optional(),
  opsTopic: z.string().optional(),
  topic: z.string().default(''),
  rpcResponseTimeout: number('rpc-response-timeout', 0.1, MAX_S).default(60),
  reportInterval: number('report-interval', 0.1, MAX_S).default(10),
  health: whole('health', 0, 65_535).optional(),
  healthHost: z.string().min(1, { error: '--health-host must be an address' }).default('127.0.0.1'),
  terminationGracePeriod: number('termination-grace-period', 0, MAX_S).optional(),
  gracefulShutdownTimeout: z.string().optional(),
  managerShutdownTimeout: z.string().optional(),
  cleanupTimeout: z.string().optional(),
  closingTimeout: z.string().optional(),
  logLevel: z
    .enum(['silent', 'error', 'warn', 'info', 'debug'], {
      error: '--log-level must be silent, error, warn, info or debug',
    })
    .default('info'),
  ...notificationShape,
  events: z.boolean().default(false),
  endWithParent: z.boolean().default(false),
};

const serviceDownTime = number('service-down-time', 1, MAX_S).default(60);

const perHost = {
  ...common,
  serviceDownTime,
  bootMs: whole('boot-ms', 0, 3_600_000).default(600),
  migrationMs: whole('migration-ms', 0, 3_600_000).default(4000),
  fakeOrders: z.string().min(1, { error: '--fake-orders must be a file' }).optional(),
  opsServer: z.boolean().default(true),
  maxConcurrentBuilds: whole('max-concurrent-builds', 1, 1000).default(10),
  maxConcurrentLiveMigrations: whole('max-concurrent-live-migrations', 1, 1000).default(1),
  recheckInterval: number('recheck-interval', 0.1, MAX_S).default(10),
  vcpus: whole('vcpus', 1, 1_000_000).default(64),
  memoryMb: whole('memory-mb', 1, 1_000_000_000).default(262_144),
  diskGb: whole('disk-gb', 0, 1_000_000_000).default(4096),
  cpuAllocationRatio: number('cpu-allocation-ratio', 0.01, 1000).default(4),
  ramAllocationRatio: number('ram-allocation-ratio', 0.01, 1000).default(1),
  diskAllocationRatio: number('disk-allocation-ratio', 0.01, 1000).default(1),
  availabilityZone: name('availability-zone').optional(),
  forcedDownStart: z
    .enum(['clean-up', 'refuse'], { error: '--forced-down-start must be clean-up or refuse' })
    .default('clean-up'),
  resizeConfirmWindow: number('resize-confirm-window', 0, MAX_S).default(0),
  shelvedOffloadTime: number('shelved-offload-time', -1, MAX_S).default(0),
  abortBeforeDeadline: z.boolean().default(false),
};

const perPool = {
  ...common,
  name: name('name').default(hostname),
  workers: whole('workers', 1, 64).default(1),
  worker: z.boolean().default(false),
};

const migrateMaxRetries = whole('migrate-max-retries', -1, 1_000_000).default(-1);
const allowResizeToSameHost = z.boolean().default(false);
const database = z.string().min(1, { error: '--database must be a URL' }).optional();
const stateDir = z
  .string({ error: '--state-dir must be given: the folder of the guests' })
  .min(1, { error: '--state-dir must be a folder' });

const computeSchema = z.strictObject({
  ...perHost,
  host: name('host').default(hostname),
  stateDir,
});

const conductorSchema = z.strictObject({
  ...perPool,
  ...cellShape,
  serviceDownTime,
  database,
  records: z.enum(['database', 'rpc'], { error: '--records must be database or rpc' }).default('database'),
  stateDir: stateDir.optional(),
  scheduler: z.enum(['rpc', 'local'], { error: '--scheduler must be rpc or local' }).default('rpc'),
  migrateMaxRetries,
  allowResizeToSameHost,
});

const schedulerSchema = z.strictObject({ ...perPool, database, serviceDownTime });

const apiSchema = z.strictObject({
  ...common,
  ...apiShape,
  ...cellShape,
  name: perPool.name,
  listen: listenSchema.default({ host: '127.0.0.1', port: 8774 }),
  database,
  serviceDownTime,
});

const allInOneSchema = z.strictObject({
  ...apiShape,
  listen: listenSchema.optional(),
  ...perHost,
  hosts: z
    .string({ error: '--hosts must be given: names, separated by commas' })
    .transform((text) => text.split(',').map((one) => one.trim()))
    .pipe(z.array(name('hosts')).min(1))
    .refine((hosts) => new Set(hosts).size === hosts.length, { error: '--hosts must name each host once' }),
  stateDir: stateDir.optional(),
  control: z.string().min(1, { error: '--control must be a path, or none' }).optional(),
  database,
  workers: whole('workers', 1, 64).default(1),
  migrateMaxRetries,
  allowResizeToSameHost,
});

/** The names of all options: a configuration file may be one for all daemons. */
const ALL_NAMES: ReadonlySet<string> = new Set(
  [computeSchema, conductorSchema, schedulerSchema, apiSchema, allInOneSchema].flatMap(({ shape }) =>
    Object.keys(shape),
  ),
);

const NO_SOURCES: Sources = new Map();

function checked<Schema extends z.ZodObject>(schema: Schema, given: unknown, sources: Sources) {
  return checkFlags({ schema, known: ALL_NAMES }, given, sources);
}

/**
 * @param sources - where each of the flags comes from, for errors; those of the configuration file are found out
 * @throws ConfigurationError (`ERR_CONFIGURATION`) that names the option and what it may be
 */
export function readComputeOptions(flags: unknown, sources: Sources = NO_SOURCES): ComputeDaemonOptions {
  return complete(checked(computeSchema, flags, sources), flags as object);
}

/** As {@link readComputeOptions}. */
export function readConductorOptions(flags: unknown, sources: Sources = NO_SOURCES): ConductorDaemonOptions {
  return complete(checked(conductorSchema, flags, sources), flags as object);
}

/** As {@link readComputeOptions}. */
export function readSchedulerOptions(flags: unknown, sources: Sources = NO_SOURCES): SchedulerDaemonOptions {
  return complete(checked(schedulerSchema, flags, sources), flags as object);
}

/** As {@link readComputeOptions}. */
export function readApiOptions(flags: unknown, sources: Sources = NO_SOURCES): ApiDaemonOptions {
  return complete(checked(apiSchema, flags, sources), flags as object);
}

/** As {@link readComputeOptions}. */
export function readAllInOneOptions(flags: unknown, sources: Sources = NO_SOURCES): AllInOneOptions {
  return complete(checked(allInOneSchema, flags, sources), flags as object);
}

import { hostname } from 'node:os';
import { ConfigurationError } from '@ebbgate/core';
import { budgetsFromConfig, type DrainBudgets } from '@ebbgate/service';
import { z } from 'zod';
import type { GivenFlags } from './daemon-flags.js';
import { exchangeSchema, type RpcFlags, type RpcOptions, rpcOptions, withConfigFile } from './rpc-options.js';

/** What all daemons can be told. */
export interface DaemonOptions extends RpcOptions {
  readonly transport?: string | undefined;
  /** Where all topics are. */
  readonly exchange: string;
  /** Seconds. */
  readonly rpcResponseTimeout: number;
  /** Port of the health endpoints. */
  readonly health?: number | undefined;
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

export interface ConductorDaemonOptions extends WorkerDaemonOptions {
  /** Who chooses hosts. */
  readonly scheduler: 'rpc' | 'local';
  /** Where the records are; absent: as `records` says. */
  readonly database?: string | undefined;
  readonly records: 'memory' | 'rpc';
}

export interface SchedulerDaemonOptions extends WorkerDaemonOptions {
  /** Where the records are; absent: a conductor has them. */
  readonly database?: string | undefined;
  /** A host that has not reported for so many seconds is down. */
  readonly serviceDownTime: number;
}

export interface AllInOneOptions extends HostDaemonOptions {
  readonly hosts: readonly string[];
  /** Where guests are kept; absent: in memory. */
  readonly stateDir?: string | undefined;
  /** Where the records are; absent: in memory. */
  readonly database?: string | undefined;
  /** How many conductors, and how many schedulers. */
  readonly workers: number;
  readonly serviceDownTime: number;
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
  z.string().regex(/^[\w-][\w.-]{0,199}$/, {
    error: `--${flag} must be letters, digits and characters of . _ -`,
  });

const common = {
  transport: z.string().optional(),
  exchange: exchangeSchema,
  config: z.string().optional(),
  computeVersionCap: z.string().optional(),
  opsTopic: z.string().optional(),
  topic: z.string().default(''),
  rpcResponseTimeout: number('rpc-response-timeout', 0.1, MAX_S).default(60),
  health: whole('health', 0, 65_535).optional(),
  gracefulShutdownTimeout: z.string().optional(),
  managerShutdownTimeout: z.string().optional(),
  cleanupTimeout: z.string().optional(),
  closingTimeout: z.string().optional(),
  logLevel: z
    .enum(['silent', 'error', 'warn', 'info', 'debug'], {
      error: '--log-level must be silent, error, warn, info or debug',
    })
    .default('info'),
  events: z.boolean().default(false),
  endWithParent: z.boolean().default(false),
};

const perHost = {
  ...common,
  bootMs: whole('boot-ms', 0, 3_600_000).default(600),
  migrationMs: whole('migration-ms', 0, 3_600_000).default(4000),
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
};

const perPool = {
  ...common,
  name: name('name').default(hostname),
  workers: whole('workers', 1, 64).default(1),
  worker: z.boolean().default(false),
};

const database = z.string().min(1, { error: '--database must be a URL' }).optional();
const serviceDownTime = number('service-down-time', 1, MAX_S).default(60);

const computeSchema = z.strictObject({
  ...perHost,
  host: name('host').default(hostname),
  stateDir: z.string({ error: '--state-dir must be given: the folder of the guests' }).min(1),
});

const conductorSchema = z.strictObject({
  ...perPool,
  database,
  records: z.enum(['memory', 'rpc'], { error: '--records must be memory or rpc' }).default('memory'),
  scheduler: z.enum(['rpc', 'local'], { error: '--scheduler must be rpc or local' }).default('rpc'),
});

const schedulerSchema = z.strictObject({ ...perPool, database, serviceDownTime });

const allInOneSchema = z.strictObject({
  ...perHost,
  hosts: z
    .string({ error: '--hosts must be given: names, separated by commas' })
    .transform((text) => text.split(',').map((one) => one.trim()))
    .pipe(z.array(name('hosts')).min(1))
    .refine((hosts) => new Set(hosts).size === hosts.length, { error: '--hosts must name each host once' }),
  health: z.undefined({ error: '--health is for one service: all-in-one has several' }).optional(),
  stateDir: z.string().min(1).optional(),
  control: z.string().min(1, { error: '--control must be a path, or none' }).optional(),
  database,
  workers: whole('workers', 1, 64).default(1),
  serviceDownTime,
});

/** The names of all options: a configuration file may be one for all daemons. */
const ALL_NAMES: ReadonlySet<string> = new Set(
  [computeSchema, conductorSchema, schedulerSchema, allInOneSchema].flatMap(({ shape }) =>
    Object.keys(shape),
  ),
);

type Sources = GivenFlags['sources'];
const NO_SOURCES: Sources = new Map();

/**
 * @param sources - where each of the flags comes from, for errors; those of the configuration file are found out
 * @throws ConfigurationError (`ERR_CONFIGURATION`) that names the option and what it may be
 */
export function readComputeOptions(flags: unknown, sources: Sources = NO_SOURCES): ComputeDaemonOptions {
  return complete(check(computeSchema, flags, sources), flags as object);
}

/** As {@link readComputeOptions}. */
export function readConductorOptions(flags: unknown, sources: Sources = NO_SOURCES): ConductorDaemonOptions {
  return complete(check(conductorSchema, flags, sources), flags as object);
}

/** As {@link readComputeOptions}. */
export function readSchedulerOptions(flags: unknown, sources: Sources = NO_SOURCES): SchedulerDaemonOptions {
  return complete(check(schedulerSchema, flags, sources), flags as object);
}

/** As {@link readComputeOptions}. */
export function readAllInOneOptions(flags: unknown, sources: Sources = NO_SOURCES): AllInOneOptions {
  return complete(check(allInOneSchema, flags, sources), flags as object);
}

/** @param given - the flags alone, without the configuration file; an object, as the check has seen */
function complete<Flags extends RpcFlags & { readonly [Name in BudgetFlag]?: string | undefined }>(
  flags: Flags,
  given: object,
): Omit<Flags, BudgetFlag> & RpcOptions & { readonly budgets: DrainBudgets } {
  return { ...withBudgets(flags), ...rpcOptions(flags, given) };
}

function check<Schema extends z.ZodObject>(
  schema: Schema,
  given: unknown,
  sources: Sources,
): z.infer<Schema> {
  const all = Object.entries(withConfigFile(given));
  // What only another daemon knows does not concern this one, when it is in the file that they share.
  const isOthers = (option: string): boolean =>
    !Object.hasOwn(schema.shape, option) && !Object.hasOwn(given as object, option) && ALL_NAMES.has(option);
  const result = schema.safeParse(Object.fromEntries(all.filter(([option]) => !isOthers(option))));
  if (result.success) return result.data;
  const texts = result.error.issues.map(({ message, path: [option] }) => {
    const source = sources.get(String(option)) ?? fileOf(given as object, String(option));
    return source === '' || source.startsWith('--') ? message : `${message} (it comes from ${source})`;
  });
  throw new ConfigurationError(texts.join('; '));
}

/** The configuration file, when it is what gives the option; '' when nothing does. */
function fileOf(given: object, option: string): string {
  if (Object.hasOwn(given, option) || !('config' in given)) return '';
  return Object.hasOwn(withConfigFile(given), option) ? String(given.config) : '';
}

type BudgetFlag = 'gracefulShutdownTimeout' | 'managerShutdownTimeout' | 'cleanupTimeout' | 'closingTimeout';

/** The budgets are checked by those who know how they fit together, under the names of configuration files. */
function withBudgets<Flags extends { readonly [Name in BudgetFlag]?: string | undefined }>(
  flags: Flags,
): Omit<Flags, BudgetFlag> & { readonly budgets: DrainBudgets } {
  const { gracefulShutdownTimeout, managerShutdownTimeout, cleanupTimeout, closingTimeout, ...rest } = flags;
  const given = {
    graceful_shutdown_timeout: gracefulShutdownTimeout,
    manager_shutdown_timeout: managerShutdownTimeout,
    cleanup_timeout: cleanupTimeout,
    closing_timeout: closingTimeout,
  };
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...rest, budgets: budgetsFromConfig(Object.fromEntries(set)) };
}

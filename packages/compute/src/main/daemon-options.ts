import { hostname } from 'node:os';
import { ConfigurationError } from '@ebbgate/core';
import { budgetsFromConfig, type DrainBudgets } from '@ebbgate/service';
import type { Command } from 'commander';
import { z } from 'zod';

/** What both daemons can be told. */
export interface DaemonOptions {
  readonly transport?: string | undefined;
  /** Newest version of the compute interface that every host knows. */
  readonly computeVersionCap?: string | undefined;
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

export interface ComputeDaemonOptions extends DaemonOptions {
  readonly host: string;
  readonly stateDir: string;
  readonly bootMs: number;
  readonly migrationMs: number;
  readonly opsServer: boolean;
  readonly opsTopic?: string | undefined;
  readonly maxConcurrentBuilds: number;
  readonly maxConcurrentLiveMigrations: number;
  /** Seconds. */
  readonly recheckInterval: number;
}

export interface ConductorDaemonOptions extends DaemonOptions {
  readonly name: string;
  readonly records: 'memory' | 'rpc';
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
  computeVersionCap: z
    .string()
    .regex(/^\d{1,6}\.\d{1,6}$/, { error: '--compute-version-cap must be a version, like 6.4' })
    .optional(),
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

const computeSchema = z.strictObject({
  ...common,
  host: name('host').default(hostname),
  stateDir: z.string({ error: '--state-dir must be given: the folder of the guests' }).min(1),
  bootMs: whole('boot-ms', 0, 3_600_000).default(600),
  migrationMs: whole('migration-ms', 0, 3_600_000).default(4000),
  opsServer: z.boolean().default(true),
  opsTopic: name('ops-topic').optional(),
  maxConcurrentBuilds: whole('max-concurrent-builds', 1, 1000).default(10),
  maxConcurrentLiveMigrations: whole('max-concurrent-live-migrations', 1, 1000).default(1),
  recheckInterval: number('recheck-interval', 0.1, MAX_S).default(10),
});

const conductorSchema = z.strictObject({
  ...common,
  name: name('name').default(hostname),
  records: z.enum(['memory', 'rpc'], { error: '--records must be memory or rpc' }).default('memory'),
});

/** @throws ConfigurationError (`ERR_CONFIGURATION`) that names the flag and what it may be */
export function readComputeOptions(flags: unknown): ComputeDaemonOptions {
  return withBudgets(check(computeSchema, flags));
}

/** @throws ConfigurationError (`ERR_CONFIGURATION`) that names the flag and what it may be */
export function readConductorOptions(flags: unknown): ConductorDaemonOptions {
  return withBudgets(check(conductorSchema, flags));
}

function check<Schema extends z.ZodType>(schema: Schema, flags: unknown): z.infer<Schema> {
  const result = schema.safeParse(flags);
  if (result.success) return result.data;
  throw new ConfigurationError(result.error.issues.map(({ message }) => message).join('; '));
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

/** Adds the flags that both daemons have. */
export function withDaemonFlags(command: Command): Command {
  return command
    .option('--transport <url>', 'the broker; default: the environment variable EBBGATE_URL')
    .option(
      '--compute-version-cap <version>',
      'newest compute interface that all hosts know; below 6.5: no ops topic',
    )
    .option('--rpc-response-timeout <seconds>', 'for calls, and signs of life of long ones (default: 60)')
    .option('--health <port>', 'serve /livez and /readyz on that port of 127.0.0.1; 0: any')
    .option('--graceful-shutdown-timeout <seconds>', 'longest drain; 0: no limit (default: 180)')
    .option('--manager-shutdown-timeout <seconds>', 'for tasks to end; 0: do not wait (default: 160)')
    .option('--cleanup-timeout <seconds>', 'for cleaning up (default: 10)')
    .option('--closing-timeout <seconds>', 'for replies and acknowledgements (default: 5)')
    .option('--log-level <level>', 'silent, error, warn, info or debug, on stderr (default: info)')
    .option('--events', 'print what happens, one JSON object a line')
    .option('--end-with-parent', 'end at once when the Node process that started this one has ended');
}

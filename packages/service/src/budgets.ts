import { ConfigurationError } from '@ebbgate/core';

/**
 * How long the parts of a drain may take, in milliseconds. The first three together stay below the last.
 */
export interface DrainBudgets {
  /** For the tasks to end, all of it; 0: do not wait for them. */
  readonly managerShutdownTimeoutMs: number;
  /** For the manager's `cleanupHost`; 0: begin it, do not wait. */
  readonly cleanupTimeoutMs: number;
  /** For both servers' replies and acknowledgements; 0: do not wait. */
  readonly closingTimeoutMs: number;
  /** For everything: when it passes the process ends. 0: no limit. A supervisor must allow more than this. */
  readonly gracefulShutdownTimeoutMs: number;
}

/** The same under the names and in the unit of configuration files, flags and the environment: seconds. */
export interface DrainBudgetsConfig {
  /** For the tasks; 0 is not to wait. */
  readonly manager_shutdown_timeout?: number | string;
  /** For `cleanupHost`. */
  readonly cleanup_timeout?: number | string;
  /** For the last replies and acknowledgements. */
  readonly closing_timeout?: number | string;
  /** For everything together; 0 is no limit. */
  readonly graceful_shutdown_timeout?: number | string;
}

type Name = keyof DrainBudgets;

/** The defaults: 160 s for tasks, 10 s for clean-up, 5 s for closing, 180 s in all. */
export const defaultBudgets: DrainBudgets = Object.freeze({
  managerShutdownTimeoutMs: 160_000,
  cleanupTimeoutMs: 10_000,
  closingTimeoutMs: 5_000,
  gracefulShutdownTimeoutMs: 180_000,
});

const INNER: readonly Name[] = ['managerShutdownTimeoutMs', 'cleanupTimeoutMs', 'closingTimeoutMs'];
const OVERALL: Name = 'gracefulShutdownTimeoutMs';
const NAMES: readonly Name[] = [...INNER, OVERALL];
/** Node's timers fire at once when given more. */
const MAX_MS = 2_147_483_647;

/** How the budgets are named and counted where they were given, for the text of errors. */
interface Dialect {
  readonly unit: string;
  readonly msPerUnit: number;
  readonly nameOf: Readonly<Record<Name, string>>;
}

const IN_CODE: Dialect = {
  unit: 'ms',
  msPerUnit: 1,
  nameOf: {
    managerShutdownTimeoutMs: 'managerShutdownTimeoutMs',
    cleanupTimeoutMs: 'cleanupTimeoutMs',
    closingTimeoutMs: 'closingTimeoutMs',
    gracefulShutdownTimeoutMs: 'gracefulShutdownTimeoutMs',
  },
};

const IN_CONFIG: Dialect = {
  unit: 's',
  msPerUnit: 1000,
  nameOf: {
    managerShutdownTimeoutMs: 'manager_shutdown_timeout',
    cleanupTimeoutMs: 'cleanup_timeout',
    closingTimeoutMs: 'closing_timeout',
    gracefulShutdownTimeoutMs: 'graceful_shutdown_timeout',
  },
};

/**
 * Complete, checked and frozen budgets; what is left out has its default.
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) for an unknown name, a value that is no time, and budgets that do
 * not fit together, with the sum in the text
 */
export function checkBudgets(budgets: Partial<DrainBudgets> = {}): DrainBudgets {
  return check(budgets, IN_CODE);
}

/**
 * Budgets from configuration, in seconds; text (as from the environment) is read as a decimal number.
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) as {@link checkBudgets} does, with the configuration's names
 */
export function budgetsFromConfig(config: DrainBudgetsConfig): DrainBudgets {
  return check(config, IN_CONFIG);
}

/**
 * Checks what a supervisor waits from SIGTERM to SIGKILL, in seconds (`terminationGracePeriodSeconds` of Kubernetes,
 * `TimeoutStopSec` of systemd): a program cannot ask it, so whoever sets it tells the program too.
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) when it is not longer than the whole drain may take, or that has no limit
 */
export function checkGracePeriod(graceS: number, { gracefulShutdownTimeoutMs }: DrainBudgets): void {
  const overallS = gracefulShutdownTimeoutMs / 1000;
  if (overallS > 0 && graceS > overallS) return;
  const overall = overallS === 0 ? 'no limit' : `${String(overallS)} s`;
  throw new ConfigurationError(
    `A termination grace period of ${String(graceS)} s must be longer than graceful_shutdown_timeout, which is ${overall}: ` +
      'SIGKILL would come before the drain is over',
  );
}

function check(given: object, dialect: Dialect): DrainBudgets {
  const values = new Map<string, unknown>(Object.entries(given));
  const known = NAMES.map((name) => dialect.nameOf[name]);
  for (const name of values.keys()) {
    if (!known.includes(name)) {
      throw new ConfigurationError(`There is no drain budget "${name}"; there are ${known.join(', ')}`);
    }
  }
  const budgets: Record<Name, number> = { ...defaultBudgets };
  for (const name of NAMES) {
    const value = values.get(dialect.nameOf[name]);
    if (value !== undefined) budgets[name] = toMs(value, dialect.nameOf[name], dialect);
  }
  checkSum(budgets, dialect);
  return Object.freeze(budgets);
}

function toMs(value: unknown, name: string, { unit, msPerUnit }: Dialect): number {
  const text = msPerUnit === 1 ? '' : String(value).trim(); // only configuration may be text
  const number = typeof value === 'string' && /^\d+(\.\d+)?$/.test(text) ? Number(text) : value;
  const ms = typeof number === 'number' ? number * msPerUnit : NaN;
  if (ms >= 0 && ms <= MAX_MS) return ms;
  const most = String(Math.floor(MAX_MS / msPerUnit));
  throw new ConfigurationError(
    `${name} must be a number of ${unit} from 0 to ${most}, not ${shownValue(value)}`,
  );
}

function shownValue(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

function checkSum(budgets: DrainBudgets, { nameOf, unit, msPerUnit }: Dialect): void {
  const overallMs = budgets[OVERALL];
  if (overallMs === 0) return;
  const sumMs = INNER.reduce((sum, name) => sum + budgets[name], 0);
  if (sumMs < overallMs) return;
  const shown = (ms: number): string => String(ms / msPerUnit);
  const sum = INNER.map((name) => `${nameOf[name]} ${shown(budgets[name])}`).join(' + ');
  throw new ConfigurationError(
    `${sum} = ${shown(sumMs)} ${unit} must be less than ${nameOf[OVERALL]}, which is ${shown(overallMs)} ${unit}: ` +
      `raise ${nameOf[OVERALL]} (0 is no limit) or lower the others`,
  );
}

import { ConfigurationError } from '@ebbgate/core';
import { budgetsFromConfig, checkGracePeriod, type DrainBudgets } from '@ebbgate/service';
import type { z } from 'zod';
import type { GivenFlags } from './daemon-flags.js';
import { type RpcFlags, type RpcOptions, rpcOptions, withConfigFile } from './rpc-options.js';

/** Where each of the flags comes from. */
export type Sources = GivenFlags['sources'];

/** What one daemon can be told, and the names of all that any can be. */
export interface KnownFlags<Schema> {
  readonly schema: Schema;
  readonly known: ReadonlySet<string>;
}

/**
 * What the flags stand for.
 * @param given - the flags alone, without the configuration file; an object, as the check has seen
 * @throws ConfigurationError (`ERR_CONFIGURATION`)
 */
export function complete<Flags extends RpcFlags & BudgetFlags>(
  flags: Flags,
  given: object,
): Omit<Flags, BudgetFlag> & RpcOptions & { readonly budgets: DrainBudgets } {
  const { terminationGracePeriod } = flags;
  const read = { ...withBudgets(flags), ...rpcOptions(flags, given) };
  if (terminationGracePeriod !== undefined) checkGracePeriod(terminationGracePeriod, read.budgets);
  return read;
}

/**
 * Flags, environment and configuration file, as the schema has them.
 * @throws ConfigurationError (`ERR_CONFIGURATION`) that names the option, and where it comes from
 */
export function checkFlags<Schema extends z.ZodObject>(
  { schema, known }: KnownFlags<Schema>,
  given: unknown,
  sources: Sources,
): z.infer<Schema> {
  const all = Object.entries(withConfigFile(given));
  // What only another daemon knows does not concern this one, when it is in the file that they share.
  const isOthers = (option: string): boolean =>
    !Object.hasOwn(schema.shape, option) && !Object.hasOwn(given as object, option) && known.has(option);
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

type BudgetFlags = { readonly [Name in BudgetFlag]?: string | undefined } & {
  readonly terminationGracePeriod?: number | undefined;
};

/** The budgets are checked by those who know how they fit together, under the names of configuration files. */
function withBudgets<Flags extends BudgetFlags>(
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

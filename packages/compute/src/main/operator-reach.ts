import { ConfigurationError } from '@ebbgate/core';
import type { Command } from 'commander';
import { z } from 'zod';
import { isInProcess } from './broker.js';
import { cellShape } from './cell-flags.js';
import { defaultControlPath } from './control-path.js';
import { givenFlags } from './daemon-flags.js';
import { downTimeOf } from './down-time.js';
import { exchangeSchema, type RpcOptions, rpcOptions, withConfigFile } from './rpc-options.js';

/** How an operator reaches a cloud. */
export interface Reach {
  /** URL of the broker that its daemons are on; undefined: it is an all-in-one in memory, at `control`. */
  readonly transport: string | undefined;
  /** Package or file with the driver for it. */
  readonly driver: string | undefined;
  /** Where its topics are. */
  readonly exchange: string;
  readonly control: string;
  /** Where its cells are told; undefined: it is the one that `transport` leads to. */
  readonly apiDatabase: string | undefined;
  /** Where new instances are made. */
  readonly cell: string | undefined;
  readonly rpc: RpcOptions;
  readonly timeoutMs: number;
  readonly serviceDownTimeMs: number;
}

const seconds = (flag: string) =>
  z.coerce
    .number({ error: `--${flag} must be a number` })
    .min(0.1, { error: `--${flag} must be at least 0.1` });

/** What daemons are told besides is in the same file, and left to them. */
const schema = z.object({
  transport: z.string().optional(),
  driver: z.string().min(1, { error: '--driver must be a package or a file' }).optional(),
  exchange: exchangeSchema,
  control: z.string().min(1).optional(),
  ...cellShape,
  config: z.string().optional(),
  computeVersionCap: z.string().optional(),
  opsTopic: z.string().optional(),
  topic: z.string().default(''),
  rpcResponseTimeout: seconds('rpc-response-timeout').default(10),
  reportInterval: seconds('report-interval').default(10),
  serviceDownTime: seconds('service-down-time').default(60),
});

/** Adds the flags that say how the cloud is reached. The rare ones are those of daemons, and not in the help. */
export function withReachFlags(command: Command): Command {
  command
    .option('--transport <url>', 'the broker of the cloud; default: the environment variable EBBGATE_URL')
    .option('--control <path>', 'the socket of an all-in-one in memory (default: one for each user)')
    .option('--api-database <url>', 'where the cells are told: does it in all of them')
    .option('--config <file>', 'the configuration file of the daemons');
  const rare = [
    ['--driver <package>', 'as for daemons'],
    ['--exchange <name>', 'as for daemons'],
    ['--cell <name>', 'with --api-database: where a new instance is made'],
    ['--compute-version-cap <level>', 'as for daemons'],
    ['--ops-topic <name>', 'as for daemons'],
    ['--topic <method=main|ops>', 'as for daemons'],
    ['--rpc-response-timeout <seconds>', 'for each question (default: 10)'],
    ['--report-interval <seconds>', 'as for daemons'],
    ['--service-down-time <seconds>', 'as for daemons'],
  ] as const;
  for (const [flags, text] of rare) command.addOption(command.createOption(flags, text).hideHelp());
  return command;
}

/** @throws ConfigurationError (`ERR_CONFIGURATION`); InvalidTransportUrlError (`ERR_INVALID_TRANSPORT_URL`) */
export function readReach(command: Command, env: Readonly<Record<string, string | undefined>>): Reach {
  const { flags } = givenFlags(command, env);
  const own = Object.fromEntries(Object.entries(flags).filter(([name]) => Object.hasOwn(schema.shape, name)));
  const result = schema.safeParse(withConfigFile(own));
  if (!result.success)
    throw new ConfigurationError(result.error.issues.map(({ message }) => message).join('; '));
  const {
    transport,
    driver,
    exchange,
    control = defaultControlPath(),
    apiDatabase,
    cell,
    rpcResponseTimeout,
  } = result.data;
  const hasBroker = transport !== undefined && transport !== '' && !isInProcess(transport);
  return {
    transport: hasBroker ? transport : undefined,
    driver,
    exchange,
    control,
    apiDatabase,
    cell,
    rpc: rpcOptions(result.data, own),
    timeoutMs: rpcResponseTimeout * 1000,
    serviceDownTimeMs: downTimeOf(result.data) * 1000,
  };
}

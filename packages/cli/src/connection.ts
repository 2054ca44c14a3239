import {
  createTransport,
  type DriverFactory,
  driverForUrl,
  type Transport,
  TransportUrl,
} from '@ebbgate/core';
import { type Command, Option } from 'commander';
import type { CliContext } from './cli-context.js';
import { driversFor } from './drivers.js';
import { collect } from './option-values.js';
import { type LogLevel, stderrLogger } from './stderr-logger.js';

/** Options that every command has. */
export interface ConnectionOptions {
  readonly url?: string;
  readonly driver?: readonly string[];
  readonly exchange?: string;
  readonly verbose?: boolean;
}

/** Adds them to a command. */
export function withConnectionOptions(command: Command): Command {
  return command
    .option('--url <url>', 'the broker; default: the environment variable EBBGATE_URL, or memory:')
    .option('--driver <package>', 'a package or file with a driver; may be repeated', collect)
    .option('--exchange <name>', 'the naming scope of the topic (default: openstack)')
    .addOption(new Option('--json', 'results, progress, logs and errors as JSON, one object a line'))
    .option('--verbose', 'log to stderr what the library does');
}

/** How to reach the broker: checked, nothing opened yet. */
export interface Broker {
  readonly url: TransportUrl;
  /** What serves its scheme; undefined for `memory:`. */
  readonly driver: DriverFactory | undefined;
  /** A transport that logs from that level on; each call makes another one. Default `warn`. */
  open(logFrom?: LogLevel): Transport;
}

/**
 * Finds the URL and the drivers for it.
 * @throws InvalidTransportUrlError, DriverLoadError, UsageError
 */
export async function findBroker(context: CliContext, options: ConnectionOptions): Promise<Broker> {
  const url = TransportUrl.parse(options.url ?? context.env['EBBGATE_URL'] ?? 'memory:');
  const drivers = await driversFor(url, options.driver ?? [], context.cwd);
  const open = (logFrom: LogLevel = 'warn'): Transport => {
    const logger = stderrLogger(context.output, options.verbose === true ? 'debug' : logFrom);
    return createTransport(url, { drivers, logger });
  };
  return { url, driver: driverForUrl(url, drivers), open };
}

import {
  ConfigurationError,
  createTransport,
  type DriverFactory,
  driverForUrl,
  type Logger,
  type Transport,
  TransportUrl,
} from '@ebbgate/core';
import { driversOf } from './driver-module.js';

/** Opens a way to the broker; each call another one. */
export type OpenTransport = (logger: Logger) => Transport;

/** Is everything that can be reached there in this very process? @throws InvalidTransportUrlError */
export function isInProcess(url: string): boolean {
  return TransportUrl.parse(url).scheme === 'memory';
}

/** What is the same for all brokers of a cloud. */
export interface BrokerOptions {
  /** The exchange of all topics. */
  readonly exchange: string;
  /** Package or file with drivers besides ours, as an operator has named it. */
  readonly driver?: string | undefined;
}

/**
 * How the broker of this URL is reached; its driver is loaded now.
 * @throws InvalidTransportUrlError (`ERR_INVALID_TRANSPORT_URL`); DriverLoadError (`ERR_DRIVER_LOAD`), which for a scheme
 * that no driver serves comes with the first transport
 */
export async function brokerAt(
  url: string,
  { exchange: controlExchange, driver }: BrokerOptions,
): Promise<OpenTransport> {
  const parsed = TransportUrl.parse(url);
  const given = driver === undefined ? [] : await driversOf(driver, process.cwd());
  const drivers = driverForUrl(parsed, given) ? given : await ownDrivers(parsed.scheme);
  return (logger) => createTransport(parsed, { drivers, logger, controlExchange });
}

/**
 * The broker of a daemon: of its flag, or else of the environment, where other users of the machine do not see the
 * password.
 * @throws ConfigurationError (`ERR_CONFIGURATION`) when there is none, or none that other processes can reach
 */
export function daemonUrl(flag: string | undefined): string {
  const url = flag ?? process.env['EBBGATE_URL'];
  if (url === undefined || url === '')
    throw new ConfigurationError('Which broker? Give --transport URL, or set EBBGATE_URL');
  if (!isInProcess(url)) return url;
  throw new ConfigurationError('memory: cannot be reached by other processes; give the URL of a broker');
}

async function ownDrivers(scheme: string): Promise<readonly DriverFactory[]> {
  if (scheme === 'memory') return [];
  if (/^rediss?(\+|$)/.test(scheme)) {
    const { redisDriver } = await import('@ebbgate/driver-redis');
    return [redisDriver];
  }
  const { amqp10Driver, rabbitDriver } = await import('@ebbgate/driver-amqp');
  return [rabbitDriver, amqp10Driver];
}

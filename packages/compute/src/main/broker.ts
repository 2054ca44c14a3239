import {
  ConfigurationError,
  createTransport,
  type DriverFactory,
  type Logger,
  type Transport,
  TransportUrl,
} from '@ebbgate/core';

/** Opens a way to the broker; each call another one. */
export type OpenTransport = (logger: Logger) => Transport;

/** Is everything that can be reached there in this very process? @throws InvalidTransportUrlError */
export function isInProcess(url: string): boolean {
  return TransportUrl.parse(url).scheme === 'memory';
}

/**
 * How the broker of this URL is reached; its driver is loaded now.
 * @param controlExchange - the exchange of all topics: of every part of a cloud the same
 * @throws InvalidTransportUrlError (`ERR_INVALID_TRANSPORT_URL`); `DriverLoadError` comes with the first transport
 */
export async function brokerAt(url: string, controlExchange: string): Promise<OpenTransport> {
  const parsed = TransportUrl.parse(url);
  const drivers = await driversFor(parsed.scheme);
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

async function driversFor(scheme: string): Promise<readonly DriverFactory[]> {
  if (scheme === 'memory') return [];
  const { rabbitDriver } = await import('@ebbgate/driver-amqp');
  return [rabbitDriver];
}

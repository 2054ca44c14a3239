import { baseScheme, driverForUrl } from './driver-for-url.js';
import { DriverLoadError } from './errors.js';
import { memoryDriver } from './memory/driver.js';
import { Transport } from './transport.js';
import { checkTransportOptions, type TransportOptions } from './transport-options.js';
import { TransportUrl } from './transport-url.js';

const PACKAGES: ReadonlyMap<string, string> = new Map([
  ...['rabbit', 'rabbits', 'amqp', 'amqps', 'kombu', 'amqp10', 'amqp10s'].map(
    (scheme) => [scheme, '@ebbgate/driver-amqp'] as const,
  ),
  ...['redis', 'rediss'].map((scheme) => [scheme, '@ebbgate/driver-redis'] as const),
]);

/**
 * Makes a transport. Nothing is connected yet.
 *
 * @throws InvalidTransportUrlError (`ERR_INVALID_TRANSPORT_URL`), DriverLoadError (`ERR_DRIVER_LOAD`) when no driver
 * was given for the scheme, ConfigurationError (`ERR_CONFIGURATION`) for an unknown or bad option.
 */
export function createTransport(url: string | TransportUrl, options: TransportOptions = {}): Transport {
  const checked = checkTransportOptions(options);
  const parsed = typeof url === 'string' ? TransportUrl.parse(url) : url;
  const factories = [...checked.drivers, memoryDriver];
  const factory = driverForUrl(parsed, factories);
  if (factory) return new Transport(parsed, factory, checked);
  const scheme = baseScheme(parsed);
  const known = factories.flatMap((each) => each.schemes).join(', ');
  const hint = PACKAGES.get(scheme);
  throw new DriverLoadError(
    `No driver for the scheme "${scheme}": given are drivers for ${known}. ` +
      (hint
        ? `Install ${hint} and hand its driver to createTransport.`
        : 'Hand its driver to createTransport.'),
  );
}

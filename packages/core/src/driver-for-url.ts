import type { DriverFactory } from './driver.js';
import type { TransportUrl } from './transport-url.js';

/** Which of them serves the scheme of the URL; what follows a `+` in it is the driver's own. The first one wins. */
export function driverForUrl(
  url: TransportUrl,
  drivers: readonly DriverFactory[],
): DriverFactory | undefined {
  const scheme = baseScheme(url);
  return drivers.find(({ schemes }) => schemes.includes(scheme));
}

/** Without what follows a `+`. */
export function baseScheme({ scheme }: TransportUrl): string {
  return scheme.split('+', 1)[0] ?? scheme;
}

import type { Driver, DriverContext, DriverFactory, TransportUrl } from '@ebbgate/core';
import { RedisDriver } from './driver.js';
import { readSettings } from './options.js';
import type { RedisOptions } from './redis-options.js';

const SCHEMES: readonly string[] = Object.freeze(['redis', 'rediss']);

/**
 * A Redis driver with options of its own; those in the query of the URL win. `rediss:` means TLS; `redis+sentinel:` and
 * `redis+cluster:` say what the hosts are.
 *
 * @example
 * const transport = createTransport(url, { drivers: [createRedisDriver({ lease: 60 })] });
 *
 * @throws Its `create` throws ConfigurationError (`ERR_CONFIGURATION`) for an option that is unknown, out of range, of no
 * meaning here, or in conflict with another.
 */
export function createRedisDriver(options: RedisOptions = {}): DriverFactory {
  const given = Object.freeze({ ...options });
  return Object.freeze({
    name: 'redis',
    schemes: SCHEMES,
    create: (url: TransportUrl, context: DriverContext): Driver => {
      const settings = readSettings(url, given);
      for (const warning of settings.warnings) context.logger.warn({ driver: 'redis' }, warning);
      return new RedisDriver(settings, context);
    },
  });
}

/** Redis and Valkey: `redis:` and, with TLS, `rediss:`; `+sentinel` and `+cluster` behind either. */
export const redisDriver: DriverFactory = createRedisDriver();

import type {
  Driver,
  DriverContext,
  DriverFactory,
  Tail,
  TailHooks,
  TailSource,
  TransportUrl,
} from '@ebbgate/core';
import { type RabbitOptions, readSettings } from './options.js';
import { RabbitDriver } from './v091/driver.js';
import { openTail } from './v091/tail.js';

const SCHEMES: readonly string[] = Object.freeze(['rabbit', 'kombu', 'amqp', 'rabbits', 'amqps']);

/**
 * A RabbitMQ driver with options of its own; those in the query of the URL win. `rabbits:` and `amqps:` mean TLS.
 *
 * @example
 * const transport = createTransport(url, { drivers: [createRabbitDriver({ rabbit_quorum_queue: true })] });
 *
 * @throws Its `create` throws ConfigurationError (`ERR_CONFIGURATION`) for an option that is unknown, out of range, of no
 * meaning here, or in conflict with another.
 */
export function createRabbitDriver(options: RabbitOptions = {}): DriverFactory {
  const given = Object.freeze({ ...options });
  return Object.freeze({
    name: 'rabbit',
    schemes: SCHEMES,
    create: (url: TransportUrl, context: DriverContext): Driver => {
      const settings = readSettings(url, given);
      for (const warning of settings.warnings) context.logger.warn({ driver: 'rabbit' }, warning);
      return new RabbitDriver(settings, context);
    },
    tail: async (url: TransportUrl, source: TailSource, hooks: TailHooks): Promise<Tail> =>
      openTail(readSettings(url, given), source, hooks),
  });
}

/** RabbitMQ by AMQP 0-9-1, with oslo.messaging's wire format: `rabbit:` (`kombu:`, `amqp:`), and `rabbits:` (`amqps:`) with TLS. */
export const rabbitDriver: DriverFactory = createRabbitDriver();

import type { Driver, DriverContext, DriverFactory, TransportUrl } from '@ebbgate/core';
import type { Amqp10Options } from './v10/amqp10-options.js';
import { Amqp10Driver } from './v10/driver.js';
import { readAmqp10Settings } from './v10/options.js';

const SCHEMES: readonly string[] = Object.freeze(['amqp10', 'amqp10s']);

/**
 * An AMQP 1.0 driver with options of its own; those in the query of the URL win. `amqp10s:` means TLS.
 *
 * @example
 * const transport = createTransport(url, { drivers: [createAmqp10Driver({ address_form: 'rabbitmq-4' })] });
 *
 * @throws Its `create` throws ConfigurationError (`ERR_CONFIGURATION`) for an option that is unknown, out of range, of no
 * meaning here, or in conflict with another.
 */
export function createAmqp10Driver(options: Amqp10Options = {}): DriverFactory {
  const given = Object.freeze({ ...options });
  return Object.freeze({
    name: 'amqp10',
    schemes: SCHEMES,
    create: (url: TransportUrl, context: DriverContext): Driver => {
      const settings = readAmqp10Settings(url, given);
      for (const warning of settings.warnings) context.logger.warn({ driver: 'amqp10' }, warning);
      return new Amqp10Driver(settings, context);
    },
  });
}

/** AMQP 1.0: RabbitMQ 3 with its plugin, RabbitMQ 4, or another broker. `amqp10:`, and `amqp10s:` with TLS. */
export const amqp10Driver: DriverFactory = createAmqp10Driver();

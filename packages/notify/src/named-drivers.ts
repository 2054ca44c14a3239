import { ConfigurationError, redactedCause, type Transport } from '@ebbgate/core';
import { LogDriver } from './drivers/log.js';
import { MessagingDriver } from './drivers/messaging.js';
import type { NotificationDriver } from './drivers/notification-driver.js';
import { readRoutingFile } from './drivers/routing-file.js';
import { RoutingDriver } from './drivers/routing.js';
import { TestDriver } from './drivers/test.js';
import type { CheckedOptions } from './notifier-options.js';

const NAMES = ['messagingv2', 'messaging', 'log', 'test', 'noop', 'routing'];
const NOOP: NotificationDriver = Object.freeze({ notify: () => undefined });

/** The drivers of one notifier by their names, each made once. */
export class NamedDrivers {
  readonly #transport: Transport;
  readonly #options: CheckedOptions;
  readonly #made = new Map<string, NotificationDriver>();

  constructor(transport: Transport, options: CheckedOptions) {
    this.#transport = transport;
    this.#options = options;
  }

  /** All that were asked for. @throws ConfigurationError (`ERR_CONFIGURATION`) */
  all(): readonly NotificationDriver[] {
    return this.#options.drivers.map((driver) =>
      typeof driver === 'string' ? this.#of(driver) : own(driver),
    );
  }

  #of(name: string): NotificationDriver {
    const known = this.#made.get(name);
    if (known) return known;
    const driver = this.#make(name);
    this.#made.set(name, driver);
    return driver;
  }

  #make(name: string): NotificationDriver {
    switch (name) {
      case 'messagingv2':
        return this.#messaging('2.0');
      case 'messaging':
        return this.#messaging('1.0');
      case 'log':
        return new LogDriver(this.#transport.logger);
      case 'test':
        return new TestDriver();
      case 'noop':
        return NOOP;
      case 'routing':
        return this.#routing();
      default:
        throw new ConfigurationError(
          `There is no notification driver "${name}"; there are ${NAMES.join(', ')}`,
        );
    }
  }

  #messaging(format: '1.0' | '2.0'): NotificationDriver {
    const { exchange, topics } = this.#options;
    if (!this.#transport.features.notifications)
      throw new ConfigurationError('The driver of this transport has no notifications');
    return new MessagingDriver({ transport: this.#transport, exchange, topics, format });
  }

  #routing(): NotificationDriver {
    const { routingFile } = this.#options;
    if (routingFile === undefined)
      throw new ConfigurationError('The notification driver "routing" needs a routingFile');
    const driverOf = (name: string): NotificationDriver => {
      if (name !== 'routing') return this.#of(name);
      throw new ConfigurationError(`The routing file ${routingFile} names the driver "routing" itself`);
    };
    return new RoutingDriver(readRoutingFile(routingFile), driverOf, (error) => {
      this.#transport.reportError(redactedCause(error));
    });
  }

  /** What drivers named `test` were given. */
  get test(): TestDriver | undefined {
    const driver = this.#made.get('test');
    return driver instanceof TestDriver ? driver : undefined;
  }
}

function own(driver: Partial<NotificationDriver> | null): NotificationDriver {
  const notify: unknown = driver?.notify; // what a caller without types gave
  if (typeof notify === 'function') return driver as NotificationDriver; // as was just checked
  throw new ConfigurationError('each of drivers must be a name, or an object with notify');
}

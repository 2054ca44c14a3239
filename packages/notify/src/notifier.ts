import { randomUUID } from 'node:crypto';
import {
  type CallerContext,
  contextOf,
  type MaybePromise,
  MessagingTimeoutError,
  redactedCause,
  toPlain,
  type Transport,
  TypedEvents,
  within,
  type WaitOptions,
} from '@ebbgate/core';
import { allSettled } from './all-settled.js';
import { reducedContext } from './context-allow-list.js';
import type { NotificationDriver, NotificationSending } from './drivers/notification-driver.js';
import { NamedDrivers } from './named-drivers.js';
import { type Notification, timestampOf } from './notification.js';
import {
  type CheckedOptions,
  checkNotifierOptions,
  type NotifierOptions,
  type NotifierPrepareOptions,
  type NotifierSettings,
  overrideSettings,
} from './notifier-options.js';
import { type NotifierCounts, type NotifierEvents, Outbox } from './outbox.js';
import type { Priority } from './priorities.js';

/** What all notifiers prepared from one share. */
class Shared {
  readonly transport: Transport;
  readonly options: CheckedOptions;
  readonly drivers: readonly NotificationDriver[];
  readonly named: NamedDrivers;
  readonly events: TypedEvents<NotifierEvents>;
  readonly outbox: Outbox;

  constructor(transport: Transport, options: CheckedOptions) {
    this.transport = transport;
    this.options = options;
    this.named = new NamedDrivers(transport, options);
    this.drivers = this.named.all();
    this.events = new TypedEvents((error, event) => {
      transport.logger.error({ err: redactedCause(error), event }, 'A listener of the notifier failed');
    });
    this.outbox = new Outbox(options.maxPending, {
      emit: (name, event) => {
        if (this.events.has(name)) this.events.emit(name, event);
        else {
          const { reason, count, error } = event;
          transport.logger.warn({ err: error, reason, count }, 'Notifications were not delivered');
        }
      },
    });
    transport.onClosing(() => {
      this.outbox.end();
    });
  }

  /** What a driver has failed with beside another one. */
  readonly onOther = (error: unknown): void => {
    this.transport.reportError(redactedCause(error));
  };
}

/** A notifier made by `prepare()`: checked already. */
class Prepared {
  readonly shared: Shared;
  readonly settings: NotifierSettings;

  constructor(shared: Shared, settings: NotifierSettings) {
    this.shared = shared;
    this.settings = settings;
  }
}

const AT_ONCE = Promise.resolve();

/**
 * Tells whoever listens what has happened. Made once and shared; it never changes: {@link Notifier.prepare} gives another
 * one with some parameters replaced.
 *
 * Each method resolves when the broker has stored the notification, and rejects when it has not or that is unknown:
 * MessageDeliveryError (`ERR_DELIVERY`), BackpressureError, AuthenticationError, TransportClosedError; SerializationError for
 * a payload that cannot be sent. With `fireAndForget` it resolves at once and never rejects.
 */
export class Notifier {
  readonly #shared: Shared;
  readonly #settings: NotifierSettings;
  readonly #sending: NotificationSending;

  /** @throws ConfigurationError (`ERR_CONFIGURATION`) for a bad option, or a transport whose driver has no notifications */
  constructor(transport: Transport, options: NotifierOptions | Prepared = {}) {
    if (options instanceof Prepared) {
      this.#shared = options.shared;
      this.#settings = options.settings;
    } else {
      const checked = checkNotifierOptions(transport, options);
      this.#shared = new Shared(transport, checked);
      this.#settings = checked.settings;
    }
    const { retry, timeoutMs = transport.sendTimeoutMs } = this.#settings;
    this.#sending = { timeoutMs, retry };
  }

  /** Who sends. */
  get publisherId(): string | null {
    return this.#settings.publisherId;
  }

  /** False when there is no driver that does anything: what is costly to collect need not be. */
  get isEnabled(): boolean {
    const { drivers } = this.#shared.options;
    return drivers.some((driver) => driver !== 'noop');
  }

  /** What became of the notifications; a copy. */
  get counts(): NotifierCounts {
    return this.#shared.outbox.counts;
  }

  /** Of fire-and-forget mode. */
  get events(): TypedEvents<NotifierEvents> {
    return this.#shared.events;
  }

  /** What a driver named `test` was given. */
  get recorded(): readonly Notification[] {
    return this.#shared.named.test?.notifications ?? [];
  }

  /**
   * A notifier with some parameters replaced, with the same drivers and counts; this one stays as it is.
   * @throws ConfigurationError (`ERR_CONFIGURATION`) for a bad value
   */
  prepare(overrides: NotifierPrepareOptions): Notifier {
    const settings = overrideSettings(this.#settings, overrides);
    return new Notifier(this.#shared.transport, new Prepared(this.#shared, settings));
  }

  /** Tells of what is to be kept for auditors. */
  audit(context: CallerContext, eventType: string, payload: unknown): Promise<void> {
    return this.notify('audit', context, eventType, payload);
  }

  /** Tells of what helps to find a fault. */
  debug(context: CallerContext, eventType: string, payload: unknown): Promise<void> {
    return this.notify('debug', context, eventType, payload);
  }

  /** Tells of what has happened. */
  info(context: CallerContext, eventType: string, payload: unknown): Promise<void> {
    return this.notify('info', context, eventType, payload);
  }

  /** Tells of what should not have happened. */
  warn(context: CallerContext, eventType: string, payload: unknown): Promise<void> {
    return this.notify('warn', context, eventType, payload);
  }

  /** Tells of what has failed. */
  error(context: CallerContext, eventType: string, payload: unknown): Promise<void> {
    return this.notify('error', context, eventType, payload);
  }

  /** Tells of what somebody must see to now. */
  critical(context: CallerContext, eventType: string, payload: unknown): Promise<void> {
    return this.notify('critical', context, eventType, payload);
  }

  /** Tells a measured value. */
  sample(context: CallerContext, eventType: string, payload: unknown): Promise<void> {
    return this.notify('sample', context, eventType, payload);
  }

  /**
   * As the method named by the priority.
   * @param context - members; undefined sends those of the request being served here. Reduced to the allowed ones
   */
  notify(priority: Priority, context: CallerContext, eventType: string, payload: unknown): Promise<void> {
    const { outbox } = this.#shared;
    const send = (): MaybePromise<void> => this.#deliver(this.#make(priority, context, eventType, payload));
    if (!this.#settings.fireAndForget) return this.#awaited(send);
    outbox.post(send);
    return AT_ONCE;
  }

  /**
   * Resolves when nothing is pending that was sent in fire-and-forget mode.
   * @throws MessagingTimeoutError (`ERR_TIMEOUT`) at the time limit; the signal's reason when it aborts
   */
  async flush(options: WaitOptions = {}): Promise<void> {
    const late = (): Error =>
      new MessagingTimeoutError(`${String(this.counts.pending)} notifications are not delivered yet`);
    await within(this.#shared.outbox.whenEmpty(), options, late);
  }

  async #awaited(send: () => MaybePromise<void>): Promise<void> {
    const { outbox } = this.#shared;
    try {
      await send();
      outbox.onSent();
    } catch (error) {
      outbox.onFailed();
      throw error;
    }
  }

  #make(priority: Priority, given: CallerContext, eventType: string, payload: unknown): Notification {
    const { serializer, allowed } = this.#shared.options;
    const context = contextOf(given);
    const entity = serializer ? serializer.serializeEntity(context.values, payload) : payload;
    const values = serializer ? serializer.serializeContext(context.values) : context.values;
    return {
      messageId: randomUUID(),
      publisherId: this.#settings.publisherId,
      eventType,
      priority,
      payload: toPlain(entity, undefined, 'payload') ?? null,
      timestamp: timestampOf(Date.now()),
      context: reducedContext(values, allowed),
    };
  }

  #deliver(notification: Notification): MaybePromise<void> {
    const { drivers, onOther } = this.#shared;
    return allSettled(drivers, (driver) => driver.notify(notification, this.#sending), onOther);
  }
}

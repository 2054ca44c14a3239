import { setTimeout as pause } from 'node:timers/promises';
import {
  type Logger,
  MessageDeliveryError,
  MessagingError,
  redactedCause,
  TransportClosedError,
  within,
} from '@ebbgate/core';
import { type ChannelModel, type ConfirmChannel, IllegalOperationError, type Message } from 'amqplib';
import { asBrokerError, isNotFound } from '../broker-errors.js';
import type { ExchangeDeclaration } from '../topology.js';
import { openConfirmChannel } from './channel.js';
import type { BrokerConnection, ConnectionUser } from './connection.js';
import { Declarations } from './declarations.js';
import { type Keeper, type Outgoing, Unconfirmed } from './unconfirmed.js';

/** Overdue messages that the broker may still confirm: with more of them the channel is given up, to keep memory bounded. */
const MOST_OVERDUE = 10_000;
const MOST_OVERDUE_BYTES = 32 * 1024 ** 2;
/** So many channels may one message outlive: perhaps it is the one that ends them. */
const MOST_CHANNELS = 3;

/** Thrown inside to say: try again, nothing has reached the broker or it does no harm. */
class SendAgain extends Error {}

/**
 * Publishes on one confirm channel. A send resolves when the broker has confirmed it; it is refused when the broker has
 * returned it, *unknown* when the connection was lost in between.
 */
export class Publisher implements ConnectionUser, Keeper {
  readonly entries: Set<Unconfirmed> = new Set();
  readonly #connection: BrokerConnection;
  readonly #logger: Logger;
  #channel: ConfirmChannel | undefined;
  #opening: Promise<ConfirmChannel> | undefined;
  #declarations: Declarations | undefined;
  /** Set while amqplib's buffer is full. */
  #drained: Promise<void> | undefined;
  #overdue = 0;
  #overdueBytes = 0;
  /** On the channel of now: the highest number that can be confirmed. */
  #written = 0;

  constructor(connection: BrokerConnection, logger: Logger) {
    this.#connection = connection;
    this.#logger = logger;
    connection.users.add(this);
  }

  onUp(model: ChannelModel): void {
    this.#declarations = new Declarations(model); // the channel is opened by the next send
  }

  onDown(): void {
    this.#declarations = undefined;
    const isClosed = this.#connection.state === 'closed';
    this.#forget(({ outgoing }) => {
      if (isClosed) return new TransportClosedError('The transport was closed', { outcome: 'unknown' });
      return outgoing?.repeatable ? new SendAgain('the connection was lost') : lost('The connection');
    });
  }

  send(outgoing: Outgoing): Promise<void> {
    const channel = this.#channel;
    const { exchange } = outgoing;
    const ready =
      channel !== undefined &&
      this.#drained === undefined &&
      this.#connection.state === 'connected' &&
      (exchange === undefined || this.#declarations?.has(exchange.name) === true);
    return ready ? this.#orAgain(this.#write(channel, outgoing), outgoing) : this.#sendWhenReady(outgoing);
  }

  onOverdue(bytes: number): void {
    this.#overdue += 1;
    this.#overdueBytes += bytes;
    const channel = this.#channel;
    if (!channel || (this.#overdue < MOST_OVERDUE && this.#overdueBytes < MOST_OVERDUE_BYTES)) return;
    this.#giveUp(channel, new Error(`The broker has left ${String(this.#overdue)} messages unconfirmed`));
  }

  onLateConfirm(bytes: number): void {
    this.#overdue = Math.max(0, this.#overdue - 1); // that of a channel that was given up is counted no more
    this.#overdueBytes = Math.max(0, this.#overdueBytes - bytes);
  }

  async #orAgain(sent: Promise<void>, outgoing: Outgoing): Promise<void> {
    try {
      await sent;
    } catch (error) {
      if (!(error instanceof SendAgain)) throw error;
      await this.#sendWhenReady(outgoing, error);
    }
  }

  /** Retry and deadline bound all of it. @param cause - why the first attempt has failed, if there was one */
  async #sendWhenReady(outgoing: Outgoing, cause?: SendAgain): Promise<void> {
    let failed = cause === undefined ? 0 : 1;
    let last = cause;
    for (;;) {
      if (last) await this.#beforeRetry(outgoing, failed, last);
      try {
        const channel = await this.#ready(outgoing);
        await this.#write(channel, outgoing);
        return;
      } catch (error) {
        if (!(error instanceof SendAgain)) throw error;
        last = error;
        failed += 1;
      }
    }
  }

  async #beforeRetry(
    { retry, deadline }: Outgoing,
    failed: number,
    { cause, message }: SendAgain,
  ): Promise<void> {
    const isChannels = cause !== undefined && failed > MOST_CHANNELS;
    if (isChannels || deadline.expired || (retry !== undefined && failed > retry))
      throw new MessageDeliveryError(`The broker did not take the message: ${message}`, { cause });
    // The first time at once; a broker that ends every channel must not be asked at full speed.
    if (failed < 2) return;
    const ms = Math.min(10 * 2 ** failed, 1000, deadline.remainingMs);
    await pause(ms, undefined, { signal: this.#connection.whileOpen }).catch(() => undefined); // closed meanwhile
  }

  /** A channel that can be written to, the exchange declared. */
  async #ready(outgoing: Outgoing): Promise<ConfirmChannel> {
    const { deadline, retry, exchange } = outgoing;
    const model = await this.#connection.whenUp(deadline, retry);
    if (this.#connection.state === 'blocked') await this.#inTime(this.#connection.whenUnblocked(), outgoing);
    try {
      if (exchange) await this.#inTime(this.#declare(model, exchange), outgoing);
      const channel = await this.#inTime(this.#open(model), outgoing);
      if (this.#drained) await this.#inTime(this.#drained, outgoing);
      if (channel === this.#channel) return channel;
    } catch (error) {
      if (error instanceof MessagingError) throw error;
      if (this.#connection.model === model) throw asBrokerError(error, 'Cannot publish');
    }
    throw new SendAgain('the connection was lost');
  }

  async #declare(model: ChannelModel, exchange: ExchangeDeclaration): Promise<void> {
    try {
      await this.#declarations?.declare(exchange);
    } catch (error) {
      if (this.#connection.model !== model) throw new SendAgain('the connection was lost');
      throw asBrokerError(error, `Cannot declare the exchange "${exchange.name}"`);
    }
  }

  #open(model: ChannelModel): Promise<ConfirmChannel> {
    if (this.#opening) return this.#opening;
    const opening = this.#openOn(model);
    this.#opening = opening;
    opening.catch(() => {
      if (this.#opening === opening) this.#opening = undefined;
    });
    return opening;
  }

  async #openOn(model: ChannelModel): Promise<ConfirmChannel> {
    const channel = await openConfirmChannel(model, (error) => {
      if (this.#channel === channel) this.#lost(error);
    });
    channel.on('return', (message) => {
      this.#returned(message);
    });
    // One in the packet of the last answer, before anybody could refuse it.
    if ((channel as { unconfirmed?: readonly unknown[] }).unconfirmed?.length !== 0) {
      void channel.close().catch(() => undefined);
      throw new Error('The broker has confirmed a message that was never sent');
    }
    this.#refuseStrangeConfirms(channel);
    if (this.#connection.model === model) this.#channel = channel;
    return channel;
  }

  /** amqplib would mistake every later confirm for that of another message. */
  #refuseStrangeConfirms(channel: ConfirmChannel): void {
    const check = ({ deliveryTag }: { readonly deliveryTag: number }): void => {
      if (deliveryTag <= this.#written || channel !== this.#channel) return;
      this.#giveUp(channel, new Error('The broker has confirmed a message that was never sent'));
      throw new Error('A strange confirm'); // so that amqplib does not see it
    };
    channel.prependListener('ack', check);
    channel.prependListener('nack', check);
  }

  #giveUp(channel: ConfirmChannel, why: Error): void {
    this.#lost(why);
    void channel.close().catch(() => undefined); // it is of no use any more
  }

  #write(channel: ConfirmChannel, outgoing: Outgoing): Promise<void> {
    return new Promise((resolve, reject) => {
      const entry = new Unconfirmed(outgoing, this, resolve, reject);
      const { exchange, routingKey, body, properties } = outgoing;
      const onConfirm = (error: unknown): void => {
        entry.confirmed(error);
      };
      try {
        const room = channel.publish(exchange?.name ?? '', routingKey, body, properties, onConfirm);
        this.#written += 1;
        if (!room) this.#awaitDrain(channel);
      } catch (error) {
        entry.fail(this.#notWritten(channel, error));
      }
    });
  }

  /** amqplib has thrown: the channel is closed or closing, or the message is none that AMQP can carry. */
  #notWritten(channel: ConfirmChannel, error: unknown): Error {
    if (!(error instanceof IllegalOperationError)) return asBrokerError(error, 'Cannot publish');
    if (this.#channel === channel) this.#lost(undefined);
    return new SendAgain('the channel was closed');
  }

  /** A return names no message, and comes before its confirm: found by address and content. */
  #returned(message: Message): void {
    const { exchange, routingKey } = message.fields;
    for (const entry of this.entries) {
      const { outgoing } = entry;
      const same = outgoing?.routingKey === routingKey && (outgoing.exchange?.name ?? '') === exchange;
      if (same && !entry.returned && outgoing.body.equals(message.content)) {
        entry.returned = true;
        return;
      }
    }
  }

  /**
   * The channel alone is gone. What was for an exchange that is missing was not taken, and is sent again once the exchange
   * is declared; what else was under way the broker may have or not.
   */
  #lost(error: Error | undefined): void {
    const missing = error !== undefined && isNotFound(error) ? error.message : undefined;
    if (error && missing === undefined)
      this.#logger.warn({ err: redactedCause(error) }, 'A publishing channel was lost; it is opened again');
    this.#declarations?.forget();
    this.#forget(({ outgoing }) => {
      const name = outgoing?.exchange?.name;
      const isMissing = name !== undefined && missing?.includes(`'${name}'`) === true;
      if (isMissing || outgoing?.repeatable) return new SendAgain('the channel was closed', { cause: error });
      return lost('The channel', error);
    });
  }

  #forget(why: (entry: Unconfirmed) => Error): void {
    this.#channel = undefined;
    this.#opening = undefined;
    this.#drained = undefined;
    this.#overdue = 0;
    this.#overdueBytes = 0;
    this.#written = 0;
    for (const entry of [...this.entries]) entry.fail(why(entry));
  }

  #awaitDrain(channel: ConfirmChannel): void {
    this.#drained ??= new Promise((resolve) => {
      const end = (): void => {
        channel.off('drain', end);
        channel.off('close', end);
        if (this.#channel === channel) this.#drained = undefined;
        resolve();
      };
      channel.on('drain', end);
      channel.on('close', end);
    });
  }

  #inTime<T>(work: Promise<T>, { deadline }: Outgoing): Promise<T> {
    return within(work, { timeoutMs: deadline.remainingMs }, () => this.#late());
  }

  #late(): Error {
    const why = this.#connection.state === 'blocked' ? ': it takes no messages, a resource alarm is set' : '';
    return new MessageDeliveryError(`The broker did not take the message before the deadline${why}`);
  }
}

function lost(what: string, cause?: Error): MessageDeliveryError {
  const why = cause ? `: ${cause.message}` : '';
  return new MessageDeliveryError(`${what} was lost before the broker confirmed the message${why}`, {
    outcome: 'unknown',
    cause,
  });
}

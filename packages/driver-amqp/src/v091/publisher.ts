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
import { asBrokerError, isNotFound, isRefused } from '../broker-errors.js';
import type { ExchangeDeclaration } from '../topology.js';
import { ChannelNotOpenedError, openConfirmChannel } from './channel.js';
import { type BrokerConnection, closedError, type ConnectionUser } from './connection.js';
import { Declarations } from './declarations.js';
import { SendRoom } from './send-room.js';
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
  readonly #room = new SendRoom();
  #overdue = 0;
  #overdueBytes = 0;
  /** The last that was told of. */
  #notOpened: ChannelNotOpenedError | undefined;

  constructor(connection: BrokerConnection, logger: Logger) {
    this.#connection = connection;
    this.#logger = logger;
    connection.users.add(this);
    connection.whileOpen.addEventListener('abort', () => {
      this.#room.onEnd();
    });
  }

  onUp(model: ChannelModel): void {
    this.#declarations = new Declarations(model, this.#logger); // the channel is opened by the next send
  }

  onDown(cause: Error): void {
    this.#declarations = undefined;
    const isClosed = this.#connection.state === 'closed';
    this.#forget(({ outgoing }) => {
      if (isClosed) return new TransportClosedError('The transport was closed', { outcome: 'unknown' });
      return outgoing?.repeatable ? new SendAgain('the connection was lost') : lost('The connection', cause);
    });
  }

  send(outgoing: Outgoing): Promise<void> {
    const channel = this.#channel;
    const { exchange } = outgoing;
    const ready =
      channel !== undefined &&
      !this.#room.isTaken &&
      this.#connection.state === 'connected' &&
      (exchange === undefined || this.#declarations?.has(exchange.name) === true);
    return ready ? this.#write(channel, outgoing, true) : this.#sendWhenReady(outgoing);
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

  /** Retry and deadline bound all of it. @param cause - why the first attempt has failed, if there was one */
  async #sendWhenReady(outgoing: Outgoing, cause?: SendAgain): Promise<void> {
    let failed = cause === undefined ? 0 : 1;
    let last = cause;
    for (;;) {
      if (last) await this.#beforeRetry(outgoing, failed, last);
      try {
        const channel = await this.#ready(outgoing);
        if (this.#room.isTaken) await this.#room.turn(outgoing, () => this.#late());
        if (this.#connection.state === 'closed') throw closedError(); // what is written now the broker ignores
        if (channel !== this.#channel) throw new SendAgain('the channel was closed');
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
    if (this.#connection.state === 'blocked')
      await this.#connection.whenUnblocked(deadline, () => this.#late());
    try {
      if (exchange) await this.#inTime(this.#declare(model, exchange), outgoing);
      const channel = await this.#inTime(this.#open(model), outgoing);
      if (channel === this.#channel) return channel;
    } catch (error) {
      if (this.#connection.state === 'closed') throw closedError();
      if (error instanceof MessagingError || error instanceof SendAgain) throw error;
      if (this.#connection.model === model) throw this.#notReady(error, 'Cannot publish');
    }
    throw new SendAgain('the connection was lost');
  }

  /** Nothing was written yet: a channel that the broker did not let us have is worth another try. */
  #notReady(error: unknown, doing: string): Error {
    if (!(error instanceof ChannelNotOpenedError) || isRefused(error)) return asBrokerError(error, doing);
    const cause = redactedCause(error);
    if (this.#notOpened !== error)
      this.#logger.warn({ err: cause }, 'A channel was not opened; it is tried again');
    this.#notOpened = error; // many sends may have waited for it
    return new SendAgain(`the channel was not opened: ${cause.message}`, { cause });
  }

  async #declare(model: ChannelModel, exchange: ExchangeDeclaration): Promise<void> {
    try {
      await this.#declarations?.declare(exchange);
    } catch (error) {
      if (this.#connection.model !== model) throw new SendAgain('the connection was lost');
      throw this.#notReady(error, `Cannot declare the exchange "${exchange.name}"`);
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
      if (this.#channel !== channel) return;
      if (error) this.#lost(error);
      else this.#channel = this.#opening = undefined; // with its connection: `onDown` follows, and knows why
    });
    channel.on('drain', () => {
      if (channel === this.#channel) this.#room.onDrain();
    });
    channel.on('return', (message) => {
      this.#returned(message);
    });
    if (this.#connection.model === model) this.#channel = channel;
    return channel;
  }

  #giveUp(channel: ConfirmChannel, why: Error): void {
    this.#lost(why);
    void channel.close().catch(() => undefined); // it is of no use any more
  }

  /** @param orAgain - the first attempt: when it fails the others follow, else it rejects with SendAgain */
  #write(channel: ConfirmChannel, outgoing: Outgoing, orAgain = false): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void => {
        if (orAgain && error instanceof SendAgain) resolve(this.#sendWhenReady(outgoing, error));
        else reject(error);
      };
      const entry = new Unconfirmed(outgoing, this, resolve, fail);
      const { exchange, routingKey, body, properties } = outgoing;
      const onConfirm = (error: unknown): void => {
        if (channel === this.#channel) entry.confirmed(error); // else settled with its channel
      };
      try {
        const room = channel.publish(exchange?.name ?? '', routingKey, body, properties, onConfirm);
        if (!room) this.#room.onFull();
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
    const cause = error && redactedCause(error);
    if (cause && missing === undefined)
      this.#logger.warn({ err: cause }, 'A publishing channel was lost; it is opened again');
    this.#declarations?.forget();
    this.#forget(({ outgoing }) => {
      const name = outgoing?.exchange?.name;
      const isMissing = name !== undefined && missing?.includes(`'${name}'`) === true;
      if (isMissing || outgoing?.repeatable) return new SendAgain('the channel was closed', { cause });
      return lost('The channel', cause);
    });
  }

  #forget(why: (entry: Unconfirmed) => Error): void {
    this.#channel = undefined;
    this.#opening = undefined;
    this.#room.onEnd();
    this.#overdue = 0;
    this.#overdueBytes = 0;
    for (const entry of [...this.entries]) entry.fail(why(entry));
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

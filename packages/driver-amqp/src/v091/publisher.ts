import { setTimeout as pause } from 'node:timers/promises';
import {
  type Logger,
  MessageDeliveryError,
  MessagingError,
  redactedCause,
  TransportClosedError,
  within,
} from '@ebbgate/core';
import { type ChannelModel, IllegalOperationError } from 'amqplib';
import { asBrokerError, isNotFound, isRefused } from '../broker-errors.js';
import { ChannelNotOpenedError, openConfirmChannel } from './channel.js';
import { closedError, type ConnectionUser } from '../held-connection.js';
import type { BrokerConnection } from './connection.js';
import { Declarations } from './declarations.js';
import { PublishChannel } from './publish-channel.js';
import { SendRoom } from './send-room.js';
import { DeclareAgain, type Outgoing, SendAgain, type Unconfirmed } from './unconfirmed.js';

/** So many channels may one message outlive: perhaps it is the one that ends them. */
const MOST_CHANNELS = 3;
/** A channel that was refused a message is replaced, at most once in this time, and when there are not too many. */
const RENEW_MS = 1000;
const MOST_AT_ONCE = 8;

/**
 * Publishes on one confirm channel at a time. A send resolves when the broker has confirmed it; it is refused when the
 * broker has returned it, *unknown* when the connection was lost in between.
 */
export class Publisher implements ConnectionUser<ChannelModel> {
  readonly #connection: BrokerConnection;
  readonly #logger: Logger;
  #channel: PublishChannel | undefined;
  #opening: Promise<PublishChannel> | undefined;
  /** That one, and those it has replaced on which messages are under way. */
  readonly #channels = new Set<PublishChannel>();
  #renewedAtMs = -Infinity;
  #declarations: Declarations | undefined;
  readonly #room = new SendRoom();
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
    const why = ({ outgoing }: Unconfirmed): Error => {
      if (isClosed) return new TransportClosedError('The transport was closed', { outcome: 'unknown' });
      return outgoing?.repeatable ? new SendAgain('the connection was lost') : lost('The connection', cause);
    };
    this.#leave();
    const channels = [...this.#channels];
    this.#channels.clear();
    for (const channel of channels) channel.fail(why);
  }

  send(outgoing: Outgoing): Promise<void> {
    const channel = this.#channel;
    const ready =
      channel !== undefined &&
      !this.#room.isTaken &&
      this.#connection.state === 'connected' &&
      (outgoing.exchange === undefined || this.#declarations?.has(outgoing) === true);
    return ready ? this.#write(channel, outgoing, true) : this.#sendWhenReady(outgoing);
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

  async #beforeRetry({ retry, deadline }: Outgoing, failed: number, last: SendAgain): Promise<void> {
    const { cause, message } = last;
    const isChannels = cause !== undefined && failed > MOST_CHANNELS;
    if (isChannels || deadline.expired || (retry !== undefined && failed > retry))
      throw new MessageDeliveryError(`The broker did not take the message: ${message}`, { cause });
    if (last instanceof DeclareAgain) this.#declarations?.forget();
    // The first time at once; a broker that ends every channel must not be asked at full speed.
    if (failed < 2) return;
    const ms = Math.min(10 * 2 ** failed, 1000, deadline.remainingMs);
    await pause(ms, undefined, { signal: this.#connection.whileOpen }).catch(() => undefined); // closed meanwhile
  }

  /** A channel that can be written to, the exchange declared. */
  async #ready(outgoing: Outgoing): Promise<PublishChannel> {
    const { deadline, retry } = outgoing;
    const model = await this.#connection.whenUp(deadline, retry);
    if (this.#connection.state === 'blocked')
      await this.#connection.whenUnblocked(deadline, () => this.#late());
    try {
      if (outgoing.exchange) await this.#inTime(this.#declare(model, outgoing), outgoing);
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

  async #declare(model: ChannelModel, outgoing: Outgoing): Promise<void> {
    try {
      await this.#declarations?.declare(outgoing);
    } catch (error) {
      if (this.#connection.model !== model) throw new SendAgain('the connection was lost');
      const { exchange, queue } = outgoing;
      const what = queue ? `queue "${queue.name}"` : `exchange "${exchange?.name ?? ''}"`;
      throw this.#notReady(error, `Cannot declare the ${what}`);
    }
  }

  #open(model: ChannelModel): Promise<PublishChannel> {
    if (this.#opening) return this.#opening;
    const opening = this.#openOn(model);
    this.#opening = opening;
    opening.catch(() => {
      if (this.#opening === opening) this.#opening = undefined;
    });
    return opening;
  }

  async #openOn(model: ChannelModel): Promise<PublishChannel> {
    const raw = await openConfirmChannel(model, (error) => {
      if (error) this.#lost(channel, error);
      else channel.end(); // with its connection: `onDown` follows, and knows why
      if (channel === this.#channel) this.#channel = this.#opening = undefined;
    });
    const channel = new PublishChannel(raw, {
      onRefused: (self) => {
        this.#renew(self);
      },
      onOverdue: (self, why) => {
        this.#lost(self, why);
        self.close();
      },
      onRetired: (self) => this.#channels.delete(self),
    });
    raw.on('drain', () => {
      if (channel === this.#channel) this.#room.onDrain();
    });
    if (this.#connection.model === model) {
      this.#channel = channel;
      this.#channels.add(channel);
    }
    return channel;
  }

  /**
   * A refusal may be the channel's own fault: one that met a quorum queue between two leaders is refused by it for ever.
   * What is sent from here on has a new one.
   */
  #renew(channel: PublishChannel): void {
    const nowMs = performance.now();
    if (channel !== this.#channel || this.#channels.size >= MOST_AT_ONCE) return;
    if (nowMs - this.#renewedAtMs < RENEW_MS) return;
    this.#renewedAtMs = nowMs;
    this.#leave();
    channel.retire();
  }

  /** @param orAgain - the first attempt: when it fails the others follow, else it rejects with SendAgain */
  #write(channel: PublishChannel, outgoing: Outgoing, orAgain = false): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void => {
        if (orAgain && error instanceof SendAgain) resolve(this.#sendWhenReady(outgoing, error));
        else reject(error);
      };
      try {
        if (!channel.write(outgoing, resolve, fail)) this.#room.onFull();
      } catch (error) {
        fail(this.#notWritten(channel, error));
      }
    });
  }

  /** amqplib has thrown: the channel is closed or closing, or the message is none that AMQP can carry. */
  #notWritten(channel: PublishChannel, error: unknown): Error {
    if (!(error instanceof IllegalOperationError)) return asBrokerError(error, 'Cannot publish');
    this.#lost(channel, undefined);
    return new SendAgain('the channel was closed');
  }

  /**
   * The channel alone is gone. What was for an exchange that is missing was not taken, and is sent again once the exchange
   * is declared; what else was under way the broker may have or not.
   */
  #lost(channel: PublishChannel, error: Error | undefined): void {
    if (!this.#channels.delete(channel)) return;
    if (channel === this.#channel) this.#leave();
    const missing = error !== undefined && isNotFound(error) ? error.message : undefined;
    const cause = error && redactedCause(error);
    if (cause && missing === undefined)
      this.#logger.warn({ err: cause }, 'A publishing channel was lost; it is opened again');
    this.#declarations?.forget();
    channel.fail(({ outgoing }) => {
      const name = outgoing?.exchange?.name;
      const isMissing = name !== undefined && missing?.includes(`'${name}'`) === true;
      if (isMissing || outgoing?.repeatable) return new SendAgain('the channel was closed', { cause });
      return lost('The channel', cause);
    });
  }

  /** The next send opens another channel. */
  #leave(): void {
    this.#channel = undefined;
    this.#opening = undefined;
    this.#room.onEnd();
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

import { setTimeout as pause } from 'node:timers/promises';
import {
  BackpressureError,
  MessageDeliveryError,
  MessageUndeliverableError,
  redactedCause,
  TransportClosedError,
} from '@ebbgate/core';
import type { RedisSettings } from './options.js';
import { type Outgoing, SendAgain, Sending } from './outgoing.js';
import type { Argument, StoreClient } from './store-client.js';
import { type ConnectionUser, closedError, type StoreConnection } from './store-connection.js';
import { asStoreError, NotDoneError, refusalOf } from './store-errors.js';

/** One script is given so many messages, or so many bytes, at most: others want their turn at the store. */
const BATCH = 128;
const BATCH_BYTES = 512 * 1024;

/** What goes to one place. */
interface Lane {
  /** Not written yet. */
  waiting: Sending[];
  /** Steps that are not answered yet. */
  underWay: number;
}

/**
 * Sends. What goes to one place in one turn of the event loop, or while the step before it is not answered, leaves as one
 * step: the more there is to do, the less each costs. A send resolves when the store has answered it; it is *unknown* when
 * the connection was lost in between.
 */
export class Publisher implements ConnectionUser {
  readonly #connection: StoreConnection;
  readonly #settings: RedisSettings;
  /** By their keys; those for which there is something to do. */
  readonly #lanes = new Map<string, Lane>();
  #due = false;

  constructor(connection: StoreConnection, settings: RedisSettings) {
    this.#connection = connection;
    this.#settings = settings;
    connection.users.add(this);
  }

  onUp(): void {
    // what waits is woken by the connection
  }

  onDown(): void {
    // each batch hears of it from its client
  }

  send(outgoing: Outgoing): Promise<void> {
    if (this.#connection.client === undefined) return this.#sendWhenUp(outgoing, undefined);
    return new Promise((resolve, reject) => {
      this.#add(outgoing, resolve, (error) => {
        if (error instanceof SendAgain) resolve(this.#sendWhenUp(outgoing, error));
        else reject(error);
      });
    });
  }

  /** Retry and deadline bound all of it. @param cause - why the first attempt has failed, if there was one */
  async #sendWhenUp(outgoing: Outgoing, cause: SendAgain | undefined): Promise<void> {
    let last = cause;
    for (let failed = cause ? 1 : 0; ; failed += 1) {
      if (last) await this.#beforeRetry(outgoing, failed, last);
      await this.#connection.whenUp(outgoing.deadline, outgoing.retry);
      try {
        await new Promise<void>((resolve, reject) => {
          this.#add(outgoing, resolve, reject);
        });
        return;
      } catch (error) {
        if (!(error instanceof SendAgain)) throw error;
        last = error;
      }
    }
  }

  async #beforeRetry({ retry, deadline }: Outgoing, failed: number, last: SendAgain): Promise<void> {
    if (deadline.expired || (retry !== undefined && failed > retry))
      throw new MessageDeliveryError(`The store did not take the message: ${last.message}`, last);
    // The first time at once; a store that refuses all must not be asked at full speed.
    if (failed < 2) return;
    const ms = Math.min(10 * 2 ** failed, 1000, deadline.remainingMs);
    await pause(ms, undefined, { signal: this.#connection.whileOpen }).catch(() => undefined); // closed meanwhile
  }

  #add(outgoing: Outgoing, resolve: () => void, reject: (error: Error) => void): void {
    const sending = new Sending(outgoing, resolve, reject);
    let lane = this.#lanes.get(outgoing.route.key);
    if (!lane) {
      lane = { waiting: [], underWay: 0 };
      this.#lanes.set(outgoing.route.key, lane);
    }
    lane.waiting.push(sending);
    if (lane.underWay === 0) this.#beDue();
  }

  #beDue(): void {
    if (this.#due) return;
    this.#due = true;
    setImmediate(() => {
      this.#flush();
    });
  }

  #flush(): void {
    this.#due = false;
    const { client } = this.#connection;
    const write = (): void => {
      for (const [key, lane] of this.#lanes) {
        if (lane.underWay > 0) continue;
        const { waiting } = lane;
        lane.waiting = [];
        if (client) this.#writeAll(client, lane, waiting);
        else for (const sending of waiting) sending.fail(this.#lostBefore());
        if (lane.underWay === 0) this.#lanes.delete(key);
      }
    };
    if (client) client.corked(write);
    else write();
  }

  #lostBefore(): Error {
    return this.#connection.state === 'closed' ? closedError() : new SendAgain('the connection was lost');
  }

  #writeAll(client: StoreClient, lane: Lane, waiting: readonly Sending[]): void {
    let batch: Sending[] = [];
    let bytes = 0;
    for (const sending of waiting) {
      if (sending.settled) continue;
      const { byteLength } = sending.outgoing.entry;
      if (batch.length === BATCH || (batch.length > 0 && bytes + byteLength > BATCH_BYTES)) {
        void this.#write(client, lane, batch);
        batch = [];
        bytes = 0;
      }
      batch.push(sending);
      bytes += byteLength;
    }
    if (batch.length > 0) void this.#write(client, lane, batch);
  }

  /** Never rejects: what goes wrong is told to each of the senders. */
  async #write(client: StoreClient, lane: Lane, batch: readonly Sending[]): Promise<void> {
    const [{ outgoing }] = batch as [Sending]; // there is at least one
    const { key, script, keys } = outgoing.route;
    const args: Argument[] = [...outgoing.route.args];
    for (const sending of batch) {
      sending.written();
      args.push(sending.outgoing.entry);
    }
    lane.underWay += 1;
    try {
      const taken = await client.run(script, keys, args);
      if (this.#settings.waitReplicas > 0) await this.#replicated(client, outgoing, Number(taken));
      for (const [index, sending] of batch.entries()) answered(sending, index, Number(taken));
    } catch (error) {
      for (const sending of batch) sending.fail(this.#failure(sending.outgoing, error));
    }
    lane.underWay -= 1;
    if (lane.underWay > 0) return;
    if (lane.waiting.length > 0) this.#beDue();
    else this.#lanes.delete(key);
  }

  /** What was taken, replies aside, is at so many replicas. @throws MessageDeliveryError, *unknown*, when not in time */
  async #replicated(client: StoreClient, { repeatable }: Outgoing, taken: number): Promise<void> {
    if (repeatable || taken <= 0) return;
    const { waitReplicas, commandTimeoutMs } = this.#settings;
    let cause: Error | undefined;
    try {
      const reached = Number(await client.call('wait', [waitReplicas, Math.ceil(commandTimeoutMs / 2)]));
      if (reached >= waitReplicas) return;
    } catch (error) {
      cause = redactedCause(error);
    }
    const text = `The store has the message, but not ${String(waitReplicas)} replicas in time (wait_replicas)`;
    throw new MessageDeliveryError(text, { cause, outcome: 'unknown' });
  }

  #failure({ repeatable }: Outgoing, error: unknown): Error {
    if (error instanceof MessageDeliveryError) return error;
    const refusal = refusalOf(error);
    const cause = redactedCause(error);
    if (refusal === 'lost' || error instanceof NotDoneError) return new SendAgain(cause.message, { cause });
    if (refusal !== undefined) return asStoreError(error, 'The store refused the message');
    if (this.#connection.state === 'closed')
      return new TransportClosedError('The transport was closed', { outcome: 'unknown' });
    if (repeatable) return new SendAgain('the connection was lost', { cause });
    return new MessageDeliveryError(
      `The connection was lost before the store confirmed the message: ${cause.message}`,
      { cause, outcome: 'unknown' },
    );
  }
}

/** @param taken - how many of the batch the store has; -1 when it does not know where they go */
function answered(sending: Sending, index: number, taken: number): void {
  const { mandatory, route } = sending.outgoing;
  if (index < taken || (taken === -1 && !mandatory)) sending.taken();
  else if (taken === -1)
    sending.fail(new MessageUndeliverableError(`There is no ${route.place}: nobody has ever listened there`));
  else sending.fail(new BackpressureError(`The store holds as much as it may for ${route.place}`));
}

import type { Socket } from 'node:net';
import { within } from '@ebbgate/core';
import type { Connection, EventContext } from 'rhea';
import type { RabbitHost } from '../options.js';
import type { AddressForm } from './address-form.js';
import { peerError } from './peer-errors.js';

const CLOSE_MS = 3_000;

/** What stands on a connection, and goes with it. */
export interface OnConnection {
  onConnectionLost(): void;
}

/** An open connection of rhea. Here its events become one promise, and one call to each of those that stand on it. */
export class PeerConnection {
  readonly connection: Connection;
  readonly host: RabbitHost;
  readonly form: AddressForm;
  readonly lost: Promise<Error | undefined>;
  readonly sessions: Set<OnConnection> = new Set();
  readonly #socket: Socket;
  #turn: Promise<boolean> | undefined;
  #isLost = false;
  #closed: (() => void) | undefined;

  constructor(connection: Connection, socket: Socket, host: RabbitHost, form: AddressForm) {
    this.connection = connection;
    this.host = host;
    this.form = form;
    this.#socket = socket;
    this.lost = new Promise((resolve) => {
      let cause: Error | undefined;
      const onLost = (): void => {
        this.end();
        if (this.#isLost) return;
        this.#isLost = true;
        this.#closed?.();
        for (const session of [...this.sessions]) session.onConnectionLost();
        resolve(cause);
      };
      const onError = (error: unknown): void => {
        cause ??= peerError(error);
        onLost();
      };
      connection.on('protocol_error', onError);
      connection.on('error', onError);
      connection.on('connection_error', (context: EventContext) => {
        onError(context.error);
      });
      connection.on('connection_close', onLost);
      connection.on('disconnected', (context: EventContext) => {
        onError(context.error);
      });
      socket.on('error', onError);
      socket.on('close', onLost);
      if (socket.destroyed) onLost();
    });
  }

  /** What is written in this turn of the event loop leaves in one piece at its end. Resolves then: false when it is lost. */
  turn(): Promise<boolean> {
    if (this.#turn) return this.#turn;
    this.#socket.cork();
    this.#turn = new Promise((resolve) => {
      setImmediate(() => {
        this.#turn = undefined;
        this.#socket.uncork();
        resolve(!this.#isLost);
      });
    });
    return this.#turn;
  }

  /** In order: the peer has processed what was written before. In bounded time; never rejects. */
  async close(): Promise<void> {
    if (!this.#isLost) {
      const answered = new Promise<void>((resolve) => (this.#closed = resolve));
      this.connection.close();
      await within(answered, { timeoutMs: CLOSE_MS }, () => new Error('late')).catch(() => undefined);
    }
    this.end();
  }

  /** With an error: without one rhea would not notice, and go on with its heartbeats. */
  end(): void {
    if (!this.#socket.destroyed) this.#socket.destroy(new Error('closed'));
  }
}

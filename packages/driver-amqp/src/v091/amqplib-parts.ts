import type { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { Channel, ChannelModel, ConfirmChannel } from 'amqplib';

/** What `connection.start-ok`, `tune-ok` and `open` are filled from. */
export interface HandshakeFields {
  readonly clientProperties: Readonly<Record<string, unknown>>;
  readonly mechanism: string;
  readonly response: Buffer;
  readonly locale: string;
  readonly channelMax: number;
  readonly frameMax: number;
  readonly heartbeat: number;
  readonly maxFrameSize: number;
  readonly virtualHost: string;
  readonly capabilities: string;
  readonly insist: number;
}

/** amqplib's connection: what its types leave out and is used here. */
export interface RawConnection extends EventEmitter {
  readonly stream: Duplex;
  /** Seconds, as negotiated; 0: none. */
  readonly heartbeat: number;
  readonly blocked: boolean;
  /** Bytes that are no whole frame yet. */
  readonly rest: Buffer;
  open(fields: HandshakeFields, callback: (error: Error | null) => void): void;
  sendHeartbeat(): void;
  /** The next whole frame. */
  recvFrame(): RawFrame | false;
}

/** A method that was received; other frames have no id. */
export interface RawFrame {
  readonly id?: number;
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** What amqplib's channels do when they are made, and its types leave out. */
export interface RawChannel {
  /** Takes a number, and asks the broker to open it. */
  open(): Promise<unknown>;
  /** Asks for `method`, and resolves with the answer, which is to be `expect`. */
  rpc(method: number, fields: Readonly<Record<string, unknown>>, expect: number): Promise<unknown>;
}

interface Parts {
  /** The frame of a method, as `Connection.sendMethod` sends it. */
  readonly encodeMethod: (method: number, channel: number, fields: object) => Buffer;
  readonly Connection: new (socket: Duplex) => RawConnection;
  readonly ChannelModel: new (connection: RawConnection) => ChannelModel;
  readonly Channel: new (connection: RawConnection) => Channel & RawChannel;
  readonly ConfirmChannel: new (connection: RawConnection) => ConfirmChannel & RawChannel;
}

/**
 * amqplib's own classes. Its `connect()` hands out neither the socket nor the connection before the handshake is over, so
 * that nobody could end an attempt, or hear of an error in the same packet as the last answer: that would end the process.
 * Its `createChannel()` likewise: an error in the same packet as an answer would end the connection.
 */
function loadParts(): Parts {
  const require = createRequire(import.meta.url);
  const folder = join(dirname(require.resolve('amqplib')), 'lib');
  const { Connection } = require(join(folder, 'connection.js')) as Pick<Parts, 'Connection'>; // 2.x, as package.json asks
  const { encodeMethod } = require(join(folder, 'defs.js')) as Pick<Parts, 'encodeMethod'>; // likewise
  const channels = require(join(folder, 'channel_model.js')) as Omit<Parts, 'Connection' | 'encodeMethod'>; // likewise
  return { Connection, encodeMethod, ...channels };
}

export const amqplibParts: Parts = loadParts();

/** The connection below a model. */
export function rawConnection(model: ChannelModel): RawConnection {
  return model.connection as unknown as RawConnection; // amqplib's types leave its members out
}

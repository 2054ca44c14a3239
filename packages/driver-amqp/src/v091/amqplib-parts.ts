import type { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { ChannelModel } from 'amqplib';

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

interface Parts {
  readonly Connection: new (socket: Duplex) => RawConnection;
  readonly ChannelModel: new (connection: RawConnection) => ChannelModel;
}

/**
 * amqplib's own classes. Its `connect()` hands out neither the socket nor the connection before the handshake is over, so
 * that nobody could end an attempt, or hear of an error in the same packet as the last answer: that would end the process.
 */
function loadParts(): Parts {
  const require = createRequire(import.meta.url);
  const folder = join(dirname(require.resolve('amqplib')), 'lib');
  const { Connection } = require(join(folder, 'connection.js')) as Pick<Parts, 'Connection'>; // 2.x, as package.json asks
  const { ChannelModel: Model } = require(join(folder, 'channel_model.js')) as Pick<Parts, 'ChannelModel'>; // likewise
  return { Connection, ChannelModel: Model };
}

export const amqplibParts: Parts = loadParts();

/** The connection below a model. */
export function rawConnection(model: ChannelModel): RawConnection {
  return model.connection as unknown as RawConnection; // amqplib's types leave its members out
}

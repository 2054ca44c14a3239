import type { Duplex } from 'node:stream';
import type { ChannelModel, ConfirmChannel } from 'amqplib';
import { BASIC_ACK, frameLength, type IncomingFrame, usualFrame } from './frame-reader.js';
import { ackFrame, type FastProperties, publishFrame, writeMessage } from './frame-writer.js';

/** So many bytes may wait in the socket before a publish is told that there is no room. */
const ROOM = 4 * 1024 ** 2;
/** `basic.publish` frames that a channel remembers. */
const MOST_PLACES = 1000;

/** The parts of amqplib's connection that are replaced. Not in its types: `docs/decisions/0010-fast-codec.md`. */
interface Internals {
  readonly stream: Duplex;
  rest: Buffer;
  frameMax: number;
  maxFrameSize: number;
  sentSinceLastCheck: boolean;
  recvSinceLastCheck: boolean;
  readonly channels: readonly ({ readonly channel: { onBufferDrain(): void } } | null)[];
  recvFrame(): IncomingFrame | false;
  sendMethod(channel: number, id: number, fields: object): boolean;
}

type ConfirmCallback = Parameters<ConfirmChannel['publish']>[4];

interface ChannelInternals {
  readonly ch: number;
  pushConfirmCallback(callback: ConfirmCallback | undefined): void;
  readonly sendMessage: (...args: unknown[]) => boolean;
}

/**
 * Reads and writes the frames that come with every message itself, beside amqplib, which does all the rest: what that
 * saves is in `docs/decisions/0010-fast-codec.md`. Every other frame, and every frame with something unusual in it, is left
 * to amqplib.
 */
export function installFastCodec(model: ChannelModel): void {
  const connection = model.connection as unknown as Internals; // checked by the tests of the driver, all of them
  const readOther = connection.recvFrame.bind(connection);
  connection.recvFrame = () => {
    if (frameLength(connection.rest) === 0 && !readMore(connection)) return false;
    const length = frameLength(connection.rest);
    const frame =
      length > 0 && length <= connection.maxFrameSize ? usualFrame(connection.rest, length) : undefined;
    if (!frame) return readOther();
    connection.rest = connection.rest.subarray(length);
    return frame;
  };
  const sendOther = connection.sendMethod.bind(connection);
  connection.sendMethod = (channel, id, fields) => {
    if (id !== BASIC_ACK) return sendOther(channel, id, fields);
    const { deliveryTag, multiple } = fields as { deliveryTag: number; multiple: boolean }; // of a basic.ack
    connection.sentSinceLastCheck = true;
    return connection.stream.write(ackFrame(channel, deliveryTag, multiple));
  };
}

/** False when the socket has nothing more for now. */
function readMore(connection: Internals): boolean {
  const incoming = connection.stream.read() as Buffer | null; // no encoding is set
  if (incoming === null) return false;
  connection.recvSinceLastCheck = true;
  connection.rest = connection.rest.byteLength === 0 ? incoming : Buffer.concat([connection.rest, incoming]);
  return true;
}

/** `publish` of a confirm channel without the detours: same arguments, same promises. */
export function installFastPublish(model: ChannelModel, channel: ConfirmChannel): void {
  const connection = model.connection as unknown as Internals; // as above
  const internals = channel as unknown as ChannelInternals; // as above
  const places = new Map<string, Buffer>();
  const usualSend = internals.sendMessage; // replaced by amqplib with one that throws, when the channel ends
  const { stream } = connection;
  const write = (bytes: Buffer): boolean => stream.write(bytes) || stream.writableLength < ROOM;
  channel.publish = (exchange, routingKey, content, options, callback): boolean => {
    if (internals.sendMessage !== usualSend) internals.sendMessage(); // which says why
    const mandatory = options?.mandatory === true;
    const key = `${mandatory ? '!' : '.'}${String(exchange.length)}${exchange}${routingKey}`;
    let publish = places.get(key);
    if (!publish) {
      if (places.size >= MOST_PLACES) places.clear();
      publish = publishFrame(internals.ch, exchange, routingKey, mandatory);
      places.set(key, publish);
    }
    connection.sentSinceLastCheck = true;
    const room = writeMessage(
      internals.ch,
      publish,
      options as FastProperties,
      content,
      connection.frameMax,
      write,
    );
    internals.pushConfirmCallback(callback);
    if (!room) stream.once('drain', () => connection.channels[internals.ch]?.channel.onBufferDrain());
    return room;
  };
}

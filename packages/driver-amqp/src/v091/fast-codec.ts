import type { Duplex } from 'node:stream';
import type { ChannelModel, ConfirmChannel } from 'amqplib';
import { amqplibParts } from './amqplib-parts.js';
import { BASIC_ACK, frameLength, type IncomingFrame, unreadableHeader, usualFrame } from './frame-reader.js';
import { type FastProperties, publishFrame, writeAck, writeMessage } from './frame-writer.js';
import type { TurnWriter } from './turn-writer.js';

/** So many bytes may wait in the socket before a publish is told that there is no room. */
const ROOM = 4 * 1024 ** 2;
/** Places that a channel remembers, by their routing keys. */
const MOST_PLACES = 1000;

/** The parts of amqplib's connection that are replaced. Not in its types: `docs/decisions/0010-fast-codec.md`. */
interface Internals {
  readonly stream: Duplex;
  rest: Buffer;
  frameMax: number;
  maxFrameSize: number;
  sentSinceLastCheck: boolean;
  recvSinceLastCheck: boolean;
  recvFrame(): IncomingFrame | false;
  sendMethod(channel: number, id: number, fields: object): boolean;
}

/** Where messages go, and the `basic.publish` frame for it. */
interface Place {
  readonly exchange: string;
  readonly mandatory: boolean;
  readonly frame: Buffer;
}

type ConfirmCallback = Parameters<ConfirmChannel['publish']>[4];

interface ChannelInternals {
  readonly ch: number;
  pushConfirmCallback(callback: ConfirmCallback | undefined): void;
  onBufferDrain(): void;
  readonly sendMessage: (...args: unknown[]) => boolean;
}

const writers = new WeakMap<ChannelModel, TurnWriter>();

/**
 * Reads and writes the frames that come with every message itself, beside amqplib, which does all the rest: what that
 * saves is in `docs/decisions/0010-fast-codec.md`. Every other frame, and every frame with something unusual in it, is left
 * to amqplib.
 */
export function installFastCodec(model: ChannelModel, writer: TurnWriter): void {
  const connection = model.connection as unknown as Internals; // checked by the tests of the driver, all of them
  writers.set(model, writer);
  const read = connection.recvFrame.bind(connection);
  connection.recvFrame = () => {
    if (frameLength(connection.rest) === 0 && !readMore(connection)) return false;
    const length = frameLength(connection.rest);
    const frame =
      length > 0 && length <= connection.maxFrameSize ? usualFrame(connection.rest, length) : undefined;
    if (!frame) return readOther(connection, read);
    connection.rest = connection.rest.subarray(length);
    return frame;
  };
  // Every frame the same way, in the order in which it was sent: amqplib's own way takes turns between channels, later, so
  // that an acknowledgement of many would overtake the reject of one of them.
  connection.sendMethod = (channel, id, fields) => {
    connection.sentSinceLastCheck = true;
    if (id === BASIC_ACK) {
      const { deliveryTag, multiple } = fields as { deliveryTag: number; multiple: boolean }; // of a basic.ack
      writeAck(writer, channel, deliveryTag, multiple);
    } else writer.write(amqplibParts.encodeMethod(id, channel, fields));
    return true;
  };
}

/** What amqplib reads; in its eyes a connection ends with the first message whose properties it cannot read. */
function readOther(connection: Internals, read: () => IncomingFrame | false): IncomingFrame | false {
  const bytes = connection.rest;
  try {
    return read();
  } catch (error) {
    const frame = unreadableHeader(bytes, connection.maxFrameSize);
    if (!frame) throw error;
    connection.rest = bytes.subarray(frameLength(bytes));
    return frame;
  }
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
  const places = new Map<string, Place>();
  const usualSend = internals.sendMessage; // replaced by amqplib with one that throws, when the channel ends
  const { stream } = connection;
  const writer = writers.get(model);
  if (!writer) return;
  const frames = { channel: internals.ch, frameMax: connection.frameMax };
  let isFull = false;
  const onDrain = (): void => {
    isFull = false;
    internals.onBufferDrain();
  };
  channel.publish = (exchange, routingKey, content, options, callback): boolean => {
    if (internals.sendMessage !== usualSend) internals.sendMessage(); // which says why
    const mandatory = options?.mandatory === true;
    let place = places.get(routingKey);
    if (place?.exchange !== exchange || place.mandatory !== mandatory) {
      if (places.size >= MOST_PLACES) places.clear();
      place = { exchange, mandatory, frame: publishFrame(internals.ch, exchange, routingKey, mandatory) };
      places.set(routingKey, place);
    }
    connection.sentSinceLastCheck = true;
    writeMessage(writer, frames, place.frame, options as FastProperties, content);
    internals.pushConfirmCallback(callback);
    const room = writer.waiting < ROOM;
    if (!room && !isFull) {
      isFull = true;
      stream.once('drain', onDrain);
    }
    return room;
  };
}

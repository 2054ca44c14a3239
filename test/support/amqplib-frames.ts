import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

interface Codec {
  readonly BasicDeliver: number;
  readonly BasicAck: number;
  readonly BasicProperties: number;
  encodeMethod(id: number, channel: number, fields: object): Buffer;
  encodeProperties(id: number, channel: number, size: number, fields: object): Buffer;
}

interface Frames {
  makeBodyFrame(channel: number, payload: Buffer): Buffer;
  parseFrame(bytes: Buffer, most: number): object | false;
  decodeFrame(frame: object | false): object;
}

const require = createRequire(import.meta.url);
const folder = join(dirname(require.resolve('amqplib')), 'lib');

/** amqplib's own. */
export const defs = require(join(folder, 'defs.js')) as Codec;
/** Likewise. */
export const frames = require(join(folder, 'frame.js')) as Frames;

/** What amqplib makes of the frame at the front; undefined when it refuses it. */
export function theirs(bytes: Buffer): object | undefined {
  try {
    return frames.decodeFrame(frames.parseFrame(bytes, 0));
  } catch {
    return undefined;
  }
}

/** amqplib leaves out what is not there. */
export function present(frame: object | undefined): unknown {
  return frame && JSON.parse(JSON.stringify(frame));
}

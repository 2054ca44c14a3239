import { isDeepStrictEqual } from 'node:util';
import { frameLength, unreadableHeader, usualFrame } from '#driver-amqp/v091/frame-reader.js';
import { defs, frames, present, theirs } from '../support/amqplib-frames.js';
import type { FuzzTarget } from '../support/fuzz/target.js';

const NAMES = { consumerTag: 'amq.ctag-1', exchange: 'openstack', routingKey: 'compute' };
const PROPERTIES = {
  contentType: 'application/json',
  contentEncoding: 'utf-8',
  deliveryMode: 2,
  priority: 0,
};
const DEADLINE = { 'ebbgate-deadline': { '!': 'int64', value: 1_700_000_000_000 } };
const header = (headers: object, expiration?: string): Buffer =>
  defs.encodeProperties(defs.BasicProperties, 1, 100, { ...PROPERTIES, headers, expiration });

const SEEDS = [
  defs.encodeMethod(defs.BasicDeliver, 1, { ...NAMES, deliveryTag: 1, redelivered: true }),
  defs.encodeMethod(defs.BasicAck, 1, { deliveryTag: 2 ** 40, multiple: true }),
  header({}, '60000'),
  header(DEADLINE),
  header({ other: 'text' }),
  frames.makeBodyFrame(1, Buffer.from('{}')),
];
const MOST = 131_072;

/** A frame off a socket: what is read of it beside amqplib is what amqplib reads. */
export const target: FuzzTarget = {
  seeds: SEEDS,
  words: [
    '\xce',
    '\x00\x3c\x00\x3c',
    '\x00\x3c\x00\x50',
    '\xf8\x00',
    '\xf9\x00',
    'ebbgate-deadline',
    'application/json',
  ].map((word) => Buffer.from(word, 'latin1')),
  check(input) {
    unreadableHeader(input, MOST);
    const length = frameLength(input);
    const frame = length === 0 ? undefined : usualFrame(input, length);
    if (frame && !isDeepStrictEqual(present(frame), present(theirs(input))))
      throw new Error('amqplib reads it otherwise');
  },
};

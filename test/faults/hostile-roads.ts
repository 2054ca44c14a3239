import { randomUUID } from 'node:crypto';
import type { ServerSource } from '@ebbgate/core';
import { connect } from 'amqplib';
import { Redis } from 'ioredis';
import { Keys } from '#driver-redis/keys.js';
import { bytesDriver } from '../support/bytes-driver.js';
import { unfolding } from '../support/hostile-bytes.js';
import { Amqp10Bed } from './amqp10-bed.js';
import { DriverBed } from './bed.js';
import { RabbitBed } from './rabbit-bed.js';
import { RedisBed } from './redis-bed.js';

/** A driver with a broker that anybody may send to. */
export interface HostileRoad {
  readonly bed: DriverBed<object>;
  readonly url: string;
  /** Puts a body where a server takes it from, past the driver; and what belongs to a message of that broker, hostile too. */
  byHand?(where: ServerSource, body: Buffer, index: number): Promise<unknown>;
}

/** A driver, and whether it has notifications. */
interface RoadOf {
  readonly start: () => Promise<HostileRoad>;
  readonly notifies: boolean;
}

/** A road for each driver, by its name. */
export const ROADS: ReadonlyMap<string, RoadOf> = new Map([
  ['memory', { start: onMemory, notifies: true }],
  ['RabbitMQ', { start: onRabbit, notifies: true }],
  ['AMQP 1.0', { start: onAmqp10, notifies: false }],
  ['Redis', { start: onRedis, notifies: true }],
]);

async function onMemory(): Promise<HostileRoad> {
  return { bed: new DriverBed<object>(() => bytesDriver()), url: `memory://${randomUUID()}/` };
}

async function onAmqp10(): Promise<HostileRoad> {
  const bed = new Amqp10Bed();
  const peer = await bed.peer();
  return { bed, url: peer.url('address_form=plain') };
}

/** Properties that no program of ours sends. */
const PROPERTIES: readonly object[] = [
  {},
  { contentType: '__proto__' },
  {
    contentType: 'application/json',
    contentEncoding: '\u0000',
    headers: { ['__proto__']: { polluted: true }, constructor: 1 },
  },
  { contentType: 'application/json', headers: { compression: 'application/x-gzip' } },
  { contentType: 'application/json', headers: { compression: '__proto__' } },
  { contentType: 'application/json', headers: { compression: { a: [1, { b: 2 }] } } },
  { contentType: 'application/json', headers: { 'ebbgate-deadline': '__proto__' } },
  { contentType: 'application/json', headers: { 'ebbgate-deadline': -1 } },
  {
    contentType: 'application/json',
    priority: 255,
    type: 'x'.repeat(255),
    messageId: '\u202e',
    userId: undefined,
  },
];
const UNFOLDS = { contentType: 'application/json', headers: { compression: 'application/x-gzip' } };
const BOMB = unfolding(512);

async function onRabbit(): Promise<HostileRoad> {
  const bed = await RabbitBed.start();
  const connection = await connect(bed.direct.replace(/^rabbit:/, 'amqp:'));
  bed.onEnd(() => connection.close());
  const channel = await connection.createConfirmChannel();
  return {
    bed,
    url: bed.direct,
    byHand: async ({ topic }, body, index) => {
      channel.sendToQueue(topic, body, PROPERTIES[index % PROPERTIES.length]);
      if (index === 0) channel.sendToQueue(topic, BOMB, UNFOLDS);
      await channel.waitForConfirms();
    },
  };
}

/** What may stand before a body. */
const HEADS = ['', '\n', '9'.repeat(400) + '\n', '!\n', '-1\n', '0\n', 'NaN\n', '\u0000\n'];

async function onRedis(): Promise<HostileRoad> {
  const bed = await RedisBed.start();
  const client = new Redis(bed.server.port, { maxRetriesPerRequest: 0 });
  client.on('error', () => undefined); // who asks is told
  bed.onEnd(() => {
    client.disconnect();
  });
  const keys = new Keys('ebbgate');
  return {
    bed,
    url: bed.direct,
    byHand: (where, body, index) => {
      const head = Buffer.from(HEADS[index % HEADS.length] ?? '');
      return client.rpush(keys.ofTopic(where).topic.list, Buffer.concat([head, body]));
    },
  };
}

import { randomUUID } from 'node:crypto';
import { createTransport, type Transport } from '@ebbgate/core';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import { RpcClient, RpcServer } from '@ebbgate/rpc';
import { type ChannelModel, connect } from 'amqplib';

/** The calling side of a contender. */
export interface Caller {
  call(argument: unknown): Promise<unknown>;
  cast(argument: unknown): Promise<unknown>;
  end(): Promise<void>;
}

/** One way to speak oslo.messaging's wire. */
export interface Contender {
  serve(url: string): Promise<() => Promise<void>>;
  caller(url: string): Promise<Caller>;
}

const TOPIC = 'bench';
const SERVER = 'one';
const PROPERTIES = {
  contentType: 'application/json',
  contentEncoding: 'utf-8',
  headers: {},
  deliveryMode: 2,
  priority: 0,
};

interface Envelope {
  readonly 'oslo.message': string;
}

interface Inner {
  readonly args: { readonly message: unknown };
  readonly _msg_id?: string;
  readonly _reply_q: string;
  readonly result: unknown;
}

function pack(inner: object): Buffer {
  return Buffer.from(JSON.stringify({ 'oslo.version': '2.0', 'oslo.message': JSON.stringify(inner) }));
}

function unpack(content: Buffer): Inner {
  const envelope = JSON.parse(content.toString()) as Envelope; // what the other side of the bench sends
  return JSON.parse(envelope['oslo.message']) as Inner; // likewise
}

function id(): string {
  return randomUUID().replaceAll('-', '');
}

async function rawConnection(url: string): Promise<ChannelModel> {
  return connect(url.replace(/^rabbit:/, 'amqp:'), { noDelay: true });
}

/** The least code that does the same on the wire: no confirms, no deadlines, no errors, no reconnecting. */
const floor: Contender = {
  async serve(url) {
    const connection = await rawConnection(url);
    const channel = await connection.createChannel();
    await channel.assertExchange('openstack', 'topic', { durable: false });
    for (const queue of [TOPIC, `${TOPIC}.${SERVER}`]) {
      await channel.assertQueue(queue, { durable: false });
      await channel.bindQueue(queue, 'openstack', queue);
      await channel.consume(queue, (message) => {
        if (!message) return;
        channel.ack(message);
        const { args, _msg_id, _reply_q } = unpack(message.content);
        if (_msg_id === undefined) return;
        const reply = { result: args.message, failure: null, ending: true, _msg_id, _unique_id: id() };
        channel.publish('', _reply_q, pack(reply), PROPERTIES);
      });
    }
    return () => connection.close();
  },
  async caller(url) {
    const connection = await rawConnection(url);
    const channel = await connection.createChannel();
    const replyQueue = `reply_${id()}`;
    await channel.assertQueue(replyQueue, { durable: false, expires: 1_800_000 });
    const waiting = new Map<string, (result: unknown) => void>();
    await channel.consume(replyQueue, (message) => {
      if (!message) return;
      channel.ack(message);
      const { _msg_id = '', result } = unpack(message.content);
      waiting.get(_msg_id)?.(result);
      waiting.delete(_msg_id);
    });
    return {
      call: (argument) =>
        new Promise((resolve) => {
          const _msg_id = id();
          waiting.set(_msg_id, resolve);
          const request = {
            method: 'echo',
            args: { message: argument },
            _msg_id,
            _reply_q: replyQueue,
            _timeout: null,
            _unique_id: id(),
          };
          channel.publish('openstack', TOPIC, pack(request), { ...PROPERTIES, expiration: '60000' });
        }),
      async cast(argument) {
        const request = { method: 'sink', args: { message: argument }, _unique_id: id() };
        if (!channel.publish('openstack', TOPIC, pack(request), PROPERTIES)) {
          await new Promise((resolve) => channel.once('drain', resolve));
        }
      },
      end: () => connection.close(),
    };
  },
};

function transportOf(url: string): Transport {
  return createTransport(url, { drivers: [rabbitDriver] });
}

/** Confirms, mandatory, deadlines, duplicates, reconnecting: everything on. */
const ours: Contender = {
  async serve(url) {
    const transport = transportOf(url);
    const endpoint = {
      echo: (_: unknown, { message }: { message: unknown }) => message,
      sink: () => undefined,
    };
    const server = new RpcServer(transport, { topic: TOPIC, server: SERVER }, [endpoint], {
      slots: 256,
      prefetch: 64,
    });
    await server.start();
    return async () => {
      await server.stop();
      await server.wait();
      await transport.close();
    };
  },
  async caller(url) {
    const transport = transportOf(url);
    await transport.connect();
    const client = new RpcClient(transport, { topic: TOPIC });
    return {
      call: (message) => client.call({}, 'echo', { message }),
      cast: (message) => client.cast({}, 'sink', { message }),
      end: () => transport.close(),
    };
  },
};

export const contenders: ReadonlyMap<string, Contender> = new Map([
  ['floor', floor],
  ['ours', ours],
]);

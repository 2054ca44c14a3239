import type { Duplex } from 'node:stream';
import { createTransport, type DriverFactory, type Transport } from '@ebbgate/core';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import { RpcClient, RpcServer } from '@ebbgate/rpc';
import { type Channel, type ChannelModel, connect, type Options } from 'amqplib';
import { id, pack, unpack } from './oslo-envelope.js';

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

/** All that is written in one turn leaves in one system call. */
function writeOnceATurn(connection: ChannelModel): void {
  const { stream } = connection.connection as unknown as { stream: Duplex }; // not in amqplib's types
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean; // all overloads alike
  stream.write = (...args: unknown[]): boolean => {
    if (stream.writableCorked === 0) {
      stream.cork();
      queueMicrotask(() => {
        stream.uncork();
      });
    }
    return write(...args);
  };
}

async function rawConnection(url: string, promises: boolean): Promise<ChannelModel> {
  const connection = await connect(url.replace(/^rabbit:/, 'amqp:'), { noDelay: true });
  if (promises) writeOnceATurn(connection);
  return connection;
}

/** One channel for all; with promises a second connection for publishing, where the broker confirms each message. */
async function rawChannels(url: string, promises: boolean): Promise<Raw> {
  const consuming = await rawConnection(url, promises);
  const channel = await consuming.createChannel();
  if (!promises) {
    return {
      channel,
      publish: (exchange, key, body, properties) => {
        if (channel.publish(exchange, key, body, properties)) return undefined;
        channel.setMaxListeners(0);
        return new Promise((resolve) => channel.once('drain', resolve));
      },
      end: () => consuming.close(),
    };
  }
  const publishing = await rawConnection(url, true);
  const confirming = await publishing.createConfirmChannel();
  return {
    channel,
    publish: (exchange, key, body, properties) =>
      new Promise((resolve) => {
        confirming.publish(exchange, key, body, { ...properties, mandatory: true }, resolve);
      }),
    end: async () => {
      await publishing.close();
      await consuming.close();
    },
  };
}

interface Raw {
  readonly channel: Channel;
  /** Resolves when there is room for more, or when the message is confirmed. */
  publish(
    exchange: string,
    key: string,
    body: Buffer,
    properties: Options.Publish,
  ): Promise<unknown> | undefined;
  end(): Promise<void>;
}

/**
 * The least code that does the same on the wire: no deadlines, no errors, no duplicates, no reconnecting.
 *
 * @param promises - with confirms and mandatory on every publish, two connections, and one write a turn: what these cost at
 * least
 */
function raw(promises: boolean): Contender {
  return {
    async serve(url) {
      const { channel, publish, end } = await rawChannels(url, promises);
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
          void publish('', _reply_q, pack(reply), PROPERTIES);
        });
      }
      return end;
    },
    async caller(url) {
      const { channel, publish, end } = await rawChannels(url, promises);
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
            void publish('openstack', TOPIC, pack(request), { ...PROPERTIES, expiration: '60000' });
          }),
        async cast(argument) {
          const request = { method: 'sink', args: { message: argument }, _unique_id: id() };
          await publish('openstack', TOPIC, pack(request), PROPERTIES);
        },
        end,
      };
    },
  };
}

/** Confirms, mandatory, deadlines, duplicates, reconnecting: everything on. */
export function ours(driver: DriverFactory): Contender {
  const transportOf = (url: string): Transport => createTransport(url, { drivers: [driver] });
  return {
    async serve(url) {
      const transport = transportOf(url);
      const endpoint = {
        echo: (_: unknown, { message }: { message: unknown }) => message,
        sink: () => undefined,
      };
      const slots = { slots: 256, prefetch: 256 };
      const server = new RpcServer(transport, { topic: TOPIC, server: SERVER }, [endpoint], slots);
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
}

export const contenders: ReadonlyMap<string, Contender> = new Map([
  ['floor', raw(false)],
  ['bare', raw(true)],
  ['ours', ours(rabbitDriver)],
]);

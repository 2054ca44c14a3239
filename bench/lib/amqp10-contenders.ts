import { amqp10Driver } from '@ebbgate/driver-amqp';
import amqplib from 'amqplib';
import rhea, { type Connection, type EventContext, type Receiver, type Sender } from 'rhea';
import { id, pack, unpack } from './oslo-envelope.js';
import { type Contender, ours } from './rabbit-contenders.js';

const TOPIC = 'bench';
const CREDIT = 256;

/** RabbitMQ 3 makes no queue that lasts over AMQP 1.0. */
async function declare(url: string, queue: string): Promise<void> {
  const connection = await amqplib.connect(url.replace(/^amqp10:/, 'amqp:'));
  const channel = await connection.createChannel();
  await channel.assertQueue(queue, { durable: false, expires: 1_800_000 });
  await connection.close();
}

function connectTo(url: string): Connection {
  const { hostname, port, username, password, pathname } = new URL(url);
  const place = { host: hostname, port: Number(port), hostname: `vhost:${pathname.slice(1)}` };
  const ways = { reconnect: false, tcp_no_delay: true, ...{ transport: 'tcp' as const } };
  return rhea.create_container().connect({ ...place, ...ways, username, password });
}

function receive(
  connection: Connection,
  queue: string,
  onBody: (body: ReturnType<typeof unpack>) => void,
): Promise<Receiver> {
  const receiver = connection.open_receiver({ source: `/amq/queue/${queue}`, credit_window: CREDIT });
  receiver.on('message', ({ message }: EventContext) => {
    onBody(unpack((message?.body as { readonly content: Buffer }).content)); // a data section, made below
  });
  return new Promise((resolve) => receiver.once('receiver_open', () => resolve(receiver)));
}

function sendTo(connection: Connection, queue: string): Promise<Sender> {
  const sender = connection.open_sender(`/amq/queue/${queue}`);
  return new Promise((resolve) => sender.once('sendable', () => resolve(sender)));
}

const message = (body: object): object => ({
  content_type: 'application/json',
  durable: true,
  body: rhea.message.data_section(pack(body)),
});

/** The least code that does the same by rhea: no deadlines, no errors, no duplicates, no reconnecting, one link each way. */
const floor: Contender = {
  async serve(url) {
    await declare(url, TOPIC);
    const connection = connectTo(url);
    const senders = new Map<string, Promise<Sender>>();
    await receive(connection, TOPIC, ({ args, _msg_id, _reply_q }) => {
      if (_msg_id === undefined) return;
      let opening = senders.get(_reply_q);
      if (!opening) senders.set(_reply_q, (opening = sendTo(connection, _reply_q)));
      const reply = { result: args.message, failure: null, ending: true, _msg_id, _unique_id: id() };
      void opening.then((sender) => sender.send(message(reply) as never)); // rhea's type wants more than it needs
    });
    return async () => {
      connection.close();
    };
  },
  async caller(url) {
    const replyQueue = `reply_${id()}`;
    await declare(url, replyQueue);
    const connection = connectTo(url);
    const waiting = new Map<string, (result: unknown) => void>();
    await receive(connection, replyQueue, ({ _msg_id = '', result }) => {
      waiting.get(_msg_id)?.(result);
      waiting.delete(_msg_id);
    });
    const sender = await sendTo(connection, TOPIC);
    const taken = new Map<unknown, () => void>();
    sender.on('accepted', ({ delivery }: EventContext) => {
      taken.get(delivery)?.();
      taken.delete(delivery);
    });
    return {
      call: (argument) =>
        new Promise((resolve) => {
          const _msg_id = id();
          waiting.set(_msg_id, resolve);
          const args = { message: argument };
          const call = { method: 'echo', args, _msg_id, _reply_q: replyQueue, _unique_id: id() };
          sender.send(message(call) as never); // as above
        }),
      cast: (argument) =>
        new Promise<void>((resolve) => {
          const cast = { method: 'sink', args: { message: argument }, _unique_id: id() };
          taken.set(sender.send(message(cast) as never), resolve); // as above
        }),
      async end() {
        connection.close();
      },
    };
  },
};

export const amqp10Contenders: ReadonlyMap<string, Contender> = new Map([
  ['floor', floor],
  ['ours', ours(amqp10Driver)],
]);

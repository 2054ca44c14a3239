import { type ServerSource, TransportUrl } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { type RabbitOptions, type RabbitSettings, readSettings } from '#driver-amqp/options.js';
import {
  type AmqpArguments,
  type ExchangeDeclaration,
  type QueueDeclaration,
  RabbitTopology,
  replyTopology,
  routeTo,
  type SourceQueue,
  sourceTopology,
} from '#driver-amqp/topology.js';
import { readVectors } from '../../support/vectors.js';

type Method = Readonly<Record<string, unknown>> & { readonly method: string };

/** What a Python server, and a Python client that calls and casts to all, declare with these options. */
interface RecordedDeclarations {
  readonly case: string;
  readonly options: RabbitOptions;
  readonly server: readonly Method[];
  readonly client: readonly Method[];
}

const SOURCE: ServerSource = { exchange: 'openstack', topic: 'compute', server: 'server-1' };
const cases = readVectors('declarations') as readonly RecordedDeclarations[];

function settingsOf(options: RabbitOptions = {}): RabbitSettings {
  return readSettings(TransportUrl.parse('rabbit://h/'), options);
}

/** Arguments as the captures show them: the values, in order, and the types that they have on the wire. */
function table(values: AmqpArguments): object {
  const entries = Object.entries(values);
  const types = { string: 'S', boolean: 't', object: 'I' } as Readonly<Record<string, string>>;
  const plain = entries.map(
    ([name, value]) => [name, typeof value === 'object' ? value.value : value] as const,
  );
  const typed = entries.map(([name, value]) => [name, types[typeof value]] as const);
  return {
    arguments: Object.fromEntries(plain),
    ...(entries.length > 0 && { arguments__amqp_types: Object.fromEntries(typed) }),
  };
}

const never = { passive: false, nowait: false };

function exchangeDeclare({ name, type, options }: ExchangeDeclaration): object {
  const { durable, autoDelete } = options;
  return {
    method: 'exchange.declare',
    exchange: name,
    type,
    durable,
    auto_delete: autoDelete,
    internal: false,
    arguments: {},
    ...never,
  };
}

function queueDeclare({ name, options }: QueueDeclaration): object {
  const { durable, autoDelete, arguments: values } = options;
  return {
    method: 'queue.declare',
    queue: name,
    durable,
    auto_delete: autoDelete,
    exclusive: false,
    ...never,
    ...table(values),
  };
}

function consume(queue: QueueDeclaration, values: AmqpArguments): object {
  return {
    method: 'basic.consume',
    queue: queue.name,
    no_local: false,
    no_ack: false,
    exclusive: false,
    nowait: false,
    ...table(values),
  };
}

function declarations({ exchange, queue, bindings }: SourceQueue): object[] {
  return [
    exchangeDeclare(exchange),
    queueDeclare(queue),
    ...bindings.map((key) => ({
      method: 'queue.bind',
      queue: queue.name,
      exchange: exchange.name,
      routing_key: key,
      arguments: {},
    })),
  ];
}

/** Each once: both sides declare the topic exchange more often than they need to. */
function once(methods: readonly object[]): object[] {
  return [...new Map(methods.map((method) => [JSON.stringify(method), method])).values()];
}

function isPrivate({ queue }: Method): boolean {
  return typeof queue === 'string' && /_fanout_|^reply_/.test(queue);
}

/** The deviation that we want: private queues are durable, unless their names are shared with Python (AMQP-26). */
function asWeWant(method: Method, options: RabbitOptions): Method {
  const deviates =
    method.method === 'queue.declare' && isPrivate(method) && options.use_queue_manager !== true;
  return deviates ? { ...method, durable: true } : method;
}

/** What is random in the name. */
function uniqueOf(methods: readonly Method[]): string {
  const name = methods.find((method) => isPrivate(method))?.['queue'] as string | undefined;
  return name?.replace(/^.*(?:_fanout|reply)_/, '') ?? 'none';
}

describe('the topology, against what Python declares', () => {
  for (const { case: title, options, server, client } of cases) {
    const settings = settingsOf(options);

    it(`${title}: a server declares, binds and consumes the same, in the same order (AMQP-24, AMQP-26)`, () => {
      const { queues } = sourceTopology(settings, SOURCE, uniqueOf(server));
      const ours = [
        ...queues.flatMap(declarations),
        ...queues.map(({ queue, consumeArguments }) => consume(queue, consumeArguments)),
      ];
      const theirs = server.filter(({ method }) => method !== 'basic.publish');
      expect(once(ours)).to.deep.equal(theirs.map((method) => asWeWant(method, options)));
      expect(orders(ours)).to.deep.equal(orders(theirs));
    });

    it(`${title}: a client has the same reply queue and reaches the same exchanges (AMQP-24, AMQP-26)`, () => {
      const { queue, consumeArguments } = replyTopology(settings, uniqueOf(client));
      const fanout = client.some(({ exchange }) => exchange === 'compute_fanout');
      const routes = [
        routeTo(settings, { kind: 'topic', exchange: 'openstack', topic: 'compute' }),
        ...(fanout ? [routeTo(settings, { kind: 'fanout', exchange: 'other', topic: 'compute' })] : []),
      ];
      const ours = [
        queueDeclare(queue),
        consume(queue, consumeArguments),
        ...routes.flatMap(({ exchange, routingKey }) => [
          ...(exchange ? [exchangeDeclare(exchange)] : []),
          {
            method: 'basic.publish',
            exchange: exchange?.name ?? '',
            routing_key: routingKey,
            mandatory: false,
          },
        ]),
      ];
      const theirs = client.map((method) => asWeWant(method, options));
      expect(once(ours)).to.have.deep.members([...theirs, ...missing(client)]);
    });

    it(`${title}: a server reaches the caller's queue as a Python server does (AMQP-33)`, () => {
      const sent = server.filter(({ method }) => method === 'basic.publish');
      const address = replyTopology(settings, uniqueOf(client)).queue.name;
      const { exchange, routingKey, canReturn } = routeTo(settings, { kind: 'reply', address });
      const ours = {
        method: 'basic.publish',
        exchange: exchange?.name ?? '',
        routing_key: routingKey,
        mandatory: canReturn,
      };
      expect(sent.length === 0 || sent.some((one) => JSON.stringify(one) === JSON.stringify(ours))).to.be
        .true;
    });
  }
});

/** `call_result` was recorded before anything was published twice; nothing else may be missing. */
function missing(client: readonly Method[]): Method[] {
  return client.some(({ method }) => method === 'basic.publish')
    ? []
    : [{ method: 'basic.publish', exchange: 'openstack', routing_key: 'compute', mandatory: false }];
}

/** The order of the members of each argument table. */
function orders(methods: readonly object[]): unknown[] {
  const found = once(methods).map((method) =>
    Object.keys((method as { arguments?: object }).arguments ?? {}),
  );
  return found.filter((names) => names.length > 0);
}

describe('the topology', () => {
  it('writes integers as Python does, and counts every limit of quorum queues (AMQP-28)', () => {
    const { queues } = sourceTopology(
      settingsOf({
        rabbit_quorum_queue: true,
        rabbit_quorum_delivery_limit: -1,
        rabbit_quorum_max_memory_length: 7,
        rabbit_quorum_max_memory_bytes: 2 ** 32,
        rabbit_transient_queues_ttl: 4_000_000,
      }),
      SOURCE,
      'u',
    );
    expect(Object.entries(queues[0]?.queue.options.arguments ?? {})).to.deep.equal([
      ['x-queue-type', 'quorum'],
      ['x-delivery-limit', { '!': 'int', value: -1 }],
      ['x-max-in-memory-length', { '!': 'int', value: 7 }],
      ['x-max-in-memory-bytes', { '!': 'long', value: 2 ** 32 }],
    ]);
    expect(queues[2]?.queue.options.arguments).to.deep.equal({
      'x-expires': { '!': 'long', value: 4_000_000_000 },
    });
  });

  it('deletes on an orderly end what is private and would never be found again (AMQP-37)', () => {
    const stream = {
      rabbit_stream_fanout: true,
      rabbit_transient_quorum_queue: true,
      rabbit_qos_prefetch_count: 1,
    };
    const manager = { use_queue_manager: true, processname: 'p' };
    const found = [{}, stream, manager].map((options) => {
      const settings = settingsOf(options);
      return [sourceTopology(settings, SOURCE, 'u').privateQueue, replyTopology(settings, 'u').privateQueue];
    });
    expect(found).to.deep.equal([
      ['compute_fanout_u', 'reply_u'],
      [undefined, 'reply_u'],
      [undefined, undefined],
    ]);
  });

  it('never lets a fanout come back, and replies as direct_mandatory_flag says (AMQP-33)', () => {
    const fanout = { kind: 'fanout', exchange: 'x', topic: 't' } as const;
    const reply = { kind: 'reply', address: 'reply_1' } as const;
    const returns = (options: RabbitOptions): boolean[] =>
      [fanout, reply].map((destination) => routeTo(settingsOf(options), destination).canReturn);
    expect(returns({})).to.deep.equal([false, true]);
    expect(returns({ direct_mandatory_flag: false })).to.deep.equal([false, false]);
  });

  it('sends to the address of a caller as it stands, and never more than AMQP can carry (AMQP-25)', () => {
    const key = (address: string): string => routeTo(settingsOf(), { kind: 'reply', address }).routingKey;
    expect(key('amq.rabbitmq.reply-to.g1h2')).to.equal('amq.rabbitmq.reply-to.g1h2');
    expect(key('#.*')).to.equal('#.*');
    expect(key('r'.repeat(300))).to.have.lengthOf.at.most(255);
  });

  it('names a wildcard, a line end and a long name alike on both sides (CORE-06)', () => {
    for (const odd of ['#', 'a.*', 'a\r\nb', 'x'.repeat(300), '']) {
      const source = { exchange: odd, topic: odd, server: odd };
      const { queues } = sourceTopology(settingsOf(), source, 'u');
      const routes = (['topic', 'server', 'fanout'] as const).map((kind) =>
        routeTo(settingsOf(), { kind, ...source }),
      );
      expect(routes.map(({ exchange }) => exchange)).to.deep.equal(queues.map(({ exchange }) => exchange));
      expect(routes.slice(0, 2).map(({ routingKey }) => [routingKey])).to.deep.equal(
        queues.slice(0, 2).map(({ bindings }) => bindings),
      );
      for (const { queue } of queues) expect(Buffer.byteLength(queue.name)).to.be.within(1, 255);
    }
  });

  it('makes a new name for each private queue, and one way for each destination (AMQP-35)', async () => {
    const topology = new RabbitTopology(settingsOf());
    const names = await Promise.all([
      topology.ofSource(SOURCE).then(({ privateQueue }) => privateQueue),
      topology.ofSource(SOURCE).then(({ privateQueue }) => privateQueue),
      topology.replyQueue().then(({ privateQueue }) => privateQueue),
    ]);
    expect(new Set(names)).to.have.lengthOf(3);
    expect(names[0]).to.match(/^compute_fanout_[0-9a-f]{32}$/);
    expect(names[2]).to.match(/^reply_[0-9a-f]{32}$/);
    const destination = { kind: 'topic', exchange: 'e', topic: 't' } as const;
    expect(topology.route(destination)).to.equal(topology.route(destination));
  });
});

import { expect } from 'chai';
import { describe, it } from 'mocha';
import { TransportUrl } from '@ebbgate/core';
import { type AddressForm, detectedForm, FORMS, reachableSource } from '#driver-amqp/v10/address-form.js';
import { readAmqp10Settings } from '#driver-amqp/v10/options.js';

const settings = readAmqp10Settings(TransportUrl.parse('amqp10://h/'), { amqp_durable_queues: true });
const source = { exchange: 'nova', topic: 'compute', server: 'host/1' };

function addresses(form: AddressForm, { exchange, topic, server } = source): string[] {
  return [
    form.target(settings, { kind: 'topic', exchange, topic }),
    form.target(settings, { kind: 'server', exchange, topic, server }),
    form.target(settings, { kind: 'fanout', exchange, topic }),
    form.target(settings, { kind: 'reply', address: 'reply_1' }),
  ].map(({ address }) => address);
}

describe('the addresses of AMQP 1.0', () => {
  it('go by the exchanges on RabbitMQ 3, which knows one escape, and say which queue is to be asked for (AMQP-48)', () => {
    expect(addresses(FORMS['rabbitmq-3'])).to.deep.equal([
      '/exchange/nova/compute',
      '/exchange/nova/compute.host%2F1',
      '/exchange/compute_fanout/fanout',
      '/amq/queue/reply_1',
    ]);
    const { asksAt } = FORMS['rabbitmq-3'].target(settings, { kind: 'server', ...source });
    expect(asksAt).to.equal('/amq/queue/compute.host%2F1');
  });

  it('go by the exchanges on RabbitMQ 4, percent-encoded (AMQP-48)', () => {
    expect(addresses(FORMS['rabbitmq-4'])).to.deep.equal([
      '/exchanges/nova/compute',
      '/exchanges/nova/compute.host%2F1',
      '/exchanges/compute_fanout',
      '/queues/reply_1',
    ]);
  });

  it('say by their beginning who receives at other brokers (AMQP-48)', () => {
    expect(addresses(FORMS.plain)).to.deep.equal([
      'queue/nova/compute',
      'queue/nova/compute/host%2F1',
      'fanout/nova/compute',
      'reply_1',
    ]);
  });

  it('hold any name: each as itself, and none as another (AMQP-48, CORE-06)', () => {
    const names = ['a/b', 'a%2Fb', 'a%252Fb', 'größe', '日本', 'a b', 'a%b', '#', '\ud800', 'x'.repeat(300)];
    for (const form of Object.values(FORMS)) {
      const targets = names.map(
        (topic) => form.target(settings, { kind: 'topic', exchange: 'e', topic }).address,
      );
      expect(new Set(targets).size, form.name).to.equal(names.length);
      for (const target of targets) expect(target, form.name).to.match(/^[\0-\xff]*$/);
    }
  });

  it('are of the name under which the queue is declared on RabbitMQ 3 (AMQP-48)', () => {
    const { reachable } = FORMS['rabbitmq-3'];
    expect(reachable({ exchange: 'e', topic: 'a%2Fb', server: '%252F' })).to.deep.equal({
      exchange: 'e',
      topic: 'a%252Fb',
      server: '%25252F',
    });
    expect(reachable(source)).to.deep.equal(source);
  });

  it('of a notification say which queue it waits in, and nobody is asked whether that is there (AMQP-24, AMQP-48)', () => {
    const to = { kind: 'notification', exchange: 'nova', topic: 'n/1.info' } as const;
    for (const [form, address] of [
      ['rabbitmq-3', '/exchange/nova/n%2F1.info'],
      ['rabbitmq-4', '/exchanges/nova/n%2F1.info'],
    ] as const) {
      const node = FORMS[form].target(settings, to);
      expect([node.address, node.asksAt]).to.deep.equal([address, undefined]);
      const [queue] = node.waitsIn?.queues ?? [];
      expect([queue?.exchange.name, queue?.queue.name, queue?.bindings]).to.deep.equal([
        'nova',
        'n/1.info',
        ['n/1.info'],
      ]);
    }
    expect(FORMS['rabbitmq-4'].target(settings, { kind: 'topic', ...source }).waitsIn).to.equal(undefined);
  });

  it('of notifications are of the names under which queues and pools are declared on RabbitMQ 3 (AMQP-48)', () => {
    const asked = { topics: [{ exchange: 'e', topic: 'a%2Fb.info' }], pool: '%2F', ephemeral: true };
    expect(reachableSource(FORMS['rabbitmq-3'], asked)).to.deep.equal({
      topics: [{ kind: 'notification', exchange: 'e', topic: 'a%252Fb.info' }],
      pool: '%252F',
      ephemeral: true,
    });
    expect(reachableSource(FORMS['rabbitmq-4'], { ...asked, pool: undefined }).pool).to.equal(undefined);
  });

  it('are found by what the peer says of itself (AMQP-48)', () => {
    const rabbit = (version: string) => detectedForm({ product: 'RabbitMQ', version })?.name;
    expect(rabbit('3.10.8')).to.equal('rabbitmq-3');
    expect(rabbit('3.13.7')).to.equal('rabbitmq-3');
    expect(rabbit('4.0.2')).to.equal('rabbitmq-4');
    expect(rabbit('10.1')).to.equal('rabbitmq-4');
    for (const other of [undefined, null, {}, { product: 'qpid', version: '3.1' }])
      expect(detectedForm(other)).to.equal(undefined);
  });
});

describe('the options of AMQP 1.0', () => {
  const read = (query: string, options = {}) =>
    readAmqp10Settings(TransportUrl.parse(`amqp10://h/?${query}`), options);

  it('are those of the driver for AMQP 0-9-1 and three more; the URL wins (CORE-09)', () => {
    const { addressForm, durable, connectTimeoutMs, sasl } = read(
      'address_form=rabbitmq-4&connect_timeout=3',
      {
        address_form: 'plain',
        sasl_mechanism: 'ANONYMOUS',
        amqp_durable_queues: true,
      },
    );
    expect([addressForm, durable, connectTimeoutMs, sasl]).to.deep.equal([
      'rabbitmq-4',
      true,
      3000,
      'ANONYMOUS',
    ]);
  });

  for (const [query, reason] of [
    ['address_form=qpid', 'address_form is "qpid"; it must be auto, rabbitmq-3, rabbitmq-4 or plain'],
    ['rabbit_login_method=PLAIN', 'set sasl_mechanism instead'],
    ['acceptance=confirmed', 'always written'],
    ['kombu_compression=gzip', 'does not pass between'],
    ['amqp_auto_delete=true', 'would be its last user'],
    ['address_form=plain&rabbit_quorum_queue=true', 'nothing is declared there'],
    ['reply_node=dynamic', 'needs address_form=plain'],
    ['sasl_mechanism=EXTERNAL', 'ssl_cert_file'],
    ['nonsense=1', 'no option "nonsense"'],
  ] as const)
    it(`refuse ${query}, and say why (CORE-09)`, () => {
      expect(() => read(query)).to.throw(reason);
    });

  it('mean TLS by the scheme amqp10s, with its port (SEC-03)', () => {
    const { ssl, hosts } = readAmqp10Settings(TransportUrl.parse('amqp10s://h/'), {});
    expect(ssl?.verifyHostname).to.equal(true);
    expect(hosts[0]?.port).to.equal(5671);
  });
});

import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { rejectionOf } from '../support/deferred.js';
import type { AmqpEvent } from '../support/rigs/amqp-peer.js';
import { eventually } from '../support/rigs/deadline.js';
import { failure } from './bed.js';
import { PeerBed } from './peer-bed.js';

const WAIT_MS = 5_000;

const isReply = ({ args }: AmqpEvent): boolean => String(args['queue']).startsWith('reply_');

describe('the reply queue, with a broker that does what a script says', function () {
  this.timeout(15_000);
  let bed: PeerBed;

  beforeEach(async () => {
    bed = await PeerBed.start();
  });

  afterEach(() => bed.end());

  const consumed = (): AmqpEvent[] => bed.peer.received('basic.consume').filter(isReply);

  /** Answers each request as a server would, with its id. */
  function answerAll(): void {
    bed.peer.script('basic.publish', (event) => {
      event.connection.answer(event);
      const { 'oslo.message': text } = JSON.parse(String(event.body)) as { 'oslo.message': string };
      const { _msg_id: id } = JSON.parse(text) as { _msg_id?: string };
      const consumer = consumed().at(-1);
      if (id === undefined || !consumer) return;
      const inner = JSON.stringify({ result: id, failure: null, ending: true, _msg_id: id });
      consumer.connection.deliver(consumer.channel, `amq.ctag-${String(consumer.args['queue'])}`, 1, {
        properties: { contentType: 'application/json' },
        body: JSON.stringify({ 'oslo.version': '2.0', 'oslo.message': inner }),
      });
    });
  }

  it('is consumed before a call is sent, after a reconnect too; casts do not wait for it (AMQP-35, RPC-06)', async () => {
    answerAll();
    const client = bed.client(bed.own, bed.where);
    await client.call({}, 'm');
    const held: AmqpEvent[] = [];
    bed.peer.script('basic.consume', (event) => void held.push(event));
    for (const connection of bed.peer.connections) connection.cut();
    await eventually('a second consumer', WAIT_MS, () => held.length === 1);
    await eventually('the connections', WAIT_MS, () => bed.own.status().connection === 'connected');
    const call = client.call({}, 'm');
    await client.cast({}, 'm');
    const brief = await failure(client.prepare({ timeoutMs: 50 }).call({}, 'm'));
    expect(brief.code).to.equal('ERR_TIMEOUT'); // and it is not sent later
    expect(bed.peer.received('basic.publish')).to.have.length(2); // the first call, and the cast
    held[0]?.connection.answer(held[0]);
    expect(await call).to.match(/^[0-9a-f]{32}$/);
    expect(bed.peer.received('basic.publish')).to.have.length(3);
    expect(consumed()).to.have.length(2);
  });

  it('that was refused is not tried again beside that of the next call (AMQP-35, AMQP-18, CORE-10)', async () => {
    const refuse = bed.peer.script('queue.declare', (event) => {
      if (isReply(event)) event.connection.closeChannel(event.channel, 403, 'ACCESS_REFUSED');
      else event.connection.answer(event);
    });
    const client = bed.client(bed.own, bed.where);
    const calls = 4;
    for (let times = 0; times < calls; times += 1)
      expect((await failure(client.call({}, 'm'))).code).to.equal('ERR_AUTHENTICATION');
    const declared = (): number => bed.peer.received('queue.declare').filter(isReply).length;
    expect(declared()).to.equal(calls);
    // As long as a further try would take twice over.
    await rejectionOf(eventually('another try', 500, () => declared() > calls));
    refuse();
    answerAll();
    await client.call({}, 'm');
    expect([declared(), consumed().length]).to.deep.equal([calls + 1, 1]);
  });
});

import {
  bytesBody,
  Deadline,
  MessageDeliveryError,
  RequestContext,
  timers,
  type WireMessage,
} from '@ebbgate/core';
import { RpcClient } from '@ebbgate/rpc';
import { replyMessage } from '#rpc/envelope.js';
import { ReplyWaiters, replyWaiters } from '#rpc/reply-waiters.js';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { rejectionOf, turn } from '../../support/deferred.js';
import { MARKER, useBed } from '../../support/rpc-bed.js';
import { scriptedClient } from '../../support/scripted-driver.js';

describe('pending calls', () => {
  it('have their waiter before the request leaves: the answer may come within publish (RPC-06)', async () => {
    const { driver, client, waiters } = scriptedClient();
    driver.publish = (_destination, message) => {
      driver.answer(message, { result: 'within' });
    };
    expect(await client.call({}, 'm')).to.equal('within');
    expect(await client.call({}, 'm')).to.equal('within');
    expect([waiters.pending, timers.size]).to.deep.equal([0, 0]);
  });

  it('are settled by the answer even if publish then fails (RPC-01)', async () => {
    const { driver, client, waiters } = scriptedClient();
    driver.publish = (_destination, message) => {
      driver.answer(message);
      throw new Error('too late to fail');
    };
    expect(await client.call({}, 'm')).to.equal('ok');
    expect(waiters.pending).to.equal(0);
  });

  it('leave nothing behind when publish throws or rejects (RPC-07, CORE-11)', async () => {
    const { driver, client, waiters } = scriptedClient();
    const failure = new MessageDeliveryError('not sent');
    for (const publish of [
      (): never => {
        throw failure;
      },
      (): Promise<void> => Promise.reject(failure),
    ]) {
      driver.publish = publish;
      for (let n = 0; n < 3; n += 1) {
        expect(await rejectionOf(client.call({}, 'm'))).to.equal(failure);
        expect(await rejectionOf(client.cast({}, 'm'))).to.equal(failure);
      }
      expect([waiters.pending, timers.size]).to.deep.equal([0, 0]);
    }
  });

  it('are matched by their own id alone, and a second answer is late (RPC-06, RPC-07)', async () => {
    const { driver, client, waiters, log } = scriptedClient();
    const sent: WireMessage[] = [];
    driver.publish = (_destination, message) => {
      sent.push(message);
    };
    const first = client.call({}, 'm');
    const second = client.call({}, 'm');
    while (sent.length < 2) await turn();
    const [one, two] = sent as [WireMessage, WireMessage];
    driver.onReply(replyMessage({ msgId: 'somebody else', result: MARKER, failure: null, ending: true }));
    driver.answer(two, { result: 2 });
    driver.answer(two, { result: MARKER });
    driver.answer(one, { result: 1 });
    expect(await Promise.all([first, second])).to.deep.equal([1, 2]);
    expect(waiters.late).to.equal(2);
    expect(log.lines.map(({ level, message }) => [level, message])).to.deep.equal([
      ['debug', 'Late reply dropped: no call waits for it'],
      ['debug', 'Late reply dropped: no call waits for it'],
    ]);
  });

  it('survive replies that are none: dropped with a warning and an event, without their content (RPC-08, AMQP-30)', async () => {
    const { driver, client, log } = scriptedClient();
    const dropped: unknown[] = [];
    client.transport.events.on('dropped', (event) => dropped.push(event));
    driver.publish = (_destination, message) => {
      for (const text of [MARKER, `{"result":"${MARKER}"}`, `{"_msg_id":["${MARKER}"]}`, '[]', '']) {
        const body = bytesBody(Buffer.from(text));
        driver.onReply({ id: undefined, body, deadline: undefined, expirationMs: undefined });
      }
      driver.answer(message);
    };
    expect(await client.call({}, 'm')).to.equal('ok');
    expect(dropped).to.have.length(5);
    expect(dropped[0]).to.include({ reason: 'malformed' });
    expect(log.at('warn')).to.have.length(5);
    expect(log.ordinaryText() + JSON.stringify(dropped)).to.not.contain(MARKER);
  });

  it('take a result that came before the end, as peers of before 2016 send it', async () => {
    const { driver, client } = scriptedClient();
    driver.publish = (_destination, message) => {
      driver.answer(message, { result: 'early', ending: false });
      driver.answer(message, { result: null });
    };
    expect(await client.call({}, 'm')).to.equal('early');
  });

  it('open one reply queue for all clients of a transport, and try again after a failure', async () => {
    const { driver, client, waiters } = scriptedClient();
    driver.refuseReplyQueue = 1;
    driver.publish = (_destination, message) => {
      driver.answer(message);
    };
    const failed = await Promise.allSettled([
      client.call({}, 'm'),
      client.prepare({ topic: 'u' }).call({}, 'm'),
    ]);
    expect(failed.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected']);
    expect(driver.opened).to.equal(1);
    const other = new RpcClient(client.transport, { topic: 'v' });
    expect(await Promise.all([client.call({}, 'm'), other.call({}, 'm')])).to.deep.equal(['ok', 'ok']);
    expect([driver.opened, waiters.pending]).to.deep.equal([2, 0]);
    expect(replyWaiters(client.transport)).to.equal(waiters);
  });

  it('are bounded: beyond the limit a call fails at once (AMQP-01)', () => {
    const { client } = scriptedClient();
    const waiters = new ReplyWaiters(client.transport, 2);
    const waiting = {
      deadline: Deadline.after(1000),
      monitorMs: undefined,
      context: new RequestContext(),
      resultOf: () => undefined,
    };
    const held = ['a', 'b'].map((id) =>
      waiters.add(
        id,
        waiting,
        () => {},
        () => {},
      ),
    );
    expect(() =>
      waiters.add(
        'c',
        waiting,
        () => {},
        () => {},
      ),
    )
      .to.throw('2 calls wait')
      .with.property('code', 'ERR_BACKPRESSURE');
    for (const waiter of held) waiter.fail(new Error('end'));
    expect([waiters.pending, timers.size]).to.deep.equal([0, 0]);
  });
});

describe('pending calls on a real broker', () => {
  const bed = useBed();

  it('leave an empty table and no timers after any mix of outcomes (RPC-01, RPC-07)', async () => {
    await bed().serve({
      ok: () => 'ok',
      fails: () => {
        throw new Error('no');
      },
      unsendable: () => () => {},
      never: () => new Promise((resolve) => setTimeout(resolve, 60)),
    });
    const client = bed().client({ timeoutMs: 2000 });
    const short = client.prepare({ timeoutMs: 15 });
    const calls = Array.from({ length: 200 }, (_, n) => {
      const controller = new AbortController();
      if (n % 7 === 0) setImmediate(() => controller.abort(new Error('aborted')));
      const { signal } = controller;
      const method = ['ok', 'fails', 'unsendable', 'missing', 'never'][n % 5] ?? 'ok';
      return (method === 'never' ? short : client).call({}, method, {}, { signal });
    });
    const settled = await Promise.allSettled(calls);
    expect(settled.filter(({ status }) => status === 'fulfilled').length).to.be.greaterThan(20);
    expect(settled.filter(({ status }) => status === 'rejected').length).to.be.greaterThan(120);
    expect(bed().pending).to.equal(0);
    expect(timers.size).to.equal(0);
  });
});

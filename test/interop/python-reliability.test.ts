import { Target } from '@ebbgate/core';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { rejectionOf } from '../support/deferred.js';
import { enveloped } from '../support/recorded.js';
import { AmqpClient } from '../support/rigs/amqp-client.js';
import { eventually, within } from '../support/rigs/deadline.js';
import type { OsloPeer } from '../support/rigs/python-oslo.js';
import { LIMIT_MS, Live, pythonCall, pythonError } from './live.js';

const CALLS = 40;

describe('Python and ours when something goes wrong', function () {
  this.timeout(60_000);
  let live: Live;
  let caller: OsloPeer;

  before(async () => {
    live = await Live.start();
    caller = await live.python();
  });

  after(() => live.close());

  it('a call monitor keeps a long call alive, both ways at once (W18, RPC-04)', async () => {
    const python = await live.python();
    await live.serve({ topic: 'slow-ours', server: 'js' }, new Target());
    await python.send({ command: 'start_server', topic: 'slow-theirs', server: 'py' });
    const args = { seconds: 3, value: 'kept' };
    const seen = await Promise.all([
      live.client({ topic: 'slow-theirs' }, { callMonitorTimeoutMs: 2_000 }).call({}, 'slow', args),
      pythonCall(caller, { topic: 'slow-ours', method: 'slow', args, timeout: 20, call_monitor_timeout: 2 }),
      pythonCall(caller, { topic: 'slow-ours', method: 'slow', args, timeout: 20, call_monitor_timeout: 1 }),
    ]);
    expect(seen).to.deep.equal(['kept', 'kept', 'kept']);
  });

  it('a Python server killed in mid-call leaves no call of ours waiting (RPC-01, RPC-04)', async () => {
    const python = await live.python();
    await python.send({ command: 'start_server', topic: 'killed', server: 'py' });
    const settled: string[] = [];
    const call = (key: string, options: object): Promise<void> =>
      rejectionOf(live.client({ topic: 'killed' }, options).call({}, 'hold', { key })).then((error) => {
        settled.push(`${key} ${String(error.code)}`);
      });
    const calls = [call('monitored', { callMonitorTimeoutMs: 2_000 }), call('bounded', { timeoutMs: 1_500 })];
    await Promise.all([python.handling('hold'), python.handling('hold')]);
    const began = performance.now();
    await python.kill();
    await within('both calls', LIMIT_MS, Promise.all(calls));
    expect(settled).to.have.members(['monitored ERR_TIMEOUT', 'bounded ERR_TIMEOUT']);
    expect(performance.now() - began).to.be.lessThan(3_500);
  });

  it('a server of ours that is drained while Python calls loses and doubles nothing (W13, AMQP-38, GS-12)', async () => {
    const [first, second] = [
      await live.serve({ topic: 'drained', server: 'one' }, new Target(), { slots: 4 }),
      await live.serve({ topic: 'drained', server: 'two' }, new Target(), { slots: 4 }),
    ];
    const calls = Array.from({ length: CALLS }, (_, value) =>
      pythonCall(caller, { topic: 'drained', method: 'slow', args: { seconds: 0.05, value } }),
    );
    const handled = (): unknown[] =>
      [first, second].flatMap(({ endpoint }) => endpoint.handled.map(({ args }) => args['value']));
    await eventually('some calls', LIMIT_MS, () => handled().length >= CALLS / 4);
    await first.server.stop();
    await first.server.wait();
    const before = first.endpoint.handled.length;
    expect(await Promise.all(calls)).to.deep.equal(Array.from({ length: CALLS }, (_, value) => value));
    expect(handled().toSorted((a, b) => Number(a) - Number(b))).to.deep.equal(
      Array.from({ length: CALLS }, (_, n) => n),
    );
    expect(first.endpoint.handled).to.have.lengthOf(before);
    expect(before).to.be.greaterThan(0);
  });

  it('a request that comes twice is run once, here and there (W19, RPC-19)', async () => {
    const python = await live.python();
    const { endpoint } = await live.serve({ topic: 'twice-ours', server: 'js' }, new Target());
    await python.send({ command: 'start_server', topic: 'twice-theirs', server: 'py' });
    const { rabbit } = live;
    const vhost = new URL(live.url).pathname.slice(1);
    const broker = await AmqpClient.open({
      port: rabbit.port,
      user: rabbit.user,
      password: rabbit.password,
      vhost,
    });
    await broker.ask(1, 'channel.open');
    const send = (topic: string, id: string): void => {
      const body = enveloped({ method: 'echo', args: { id }, _unique_id: id.repeat(32) });
      broker.publish(1, { exchange: 'openstack', routingKey: topic }, body, {
        contentType: 'application/json',
      });
    };
    for (const topic of ['twice-ours', 'twice-theirs']) for (const id of ['a', 'a', 'b']) send(topic, id);
    const theirs = (): unknown[] =>
      python.handled.filter(({ topic }) => topic === 'twice-theirs').map(({ args }) => args['id']);
    await eventually('the last', LIMIT_MS, () => theirs().includes('b') && endpoint.handled.length >= 2);
    expect(endpoint.handled.map(({ args }) => args['id'])).to.deep.equal(['a', 'b']);
    expect(theirs().toSorted()).to.deep.equal(['a', 'b']);
    await broker.close();
  });

  it('a late reply to a Python client that gave up does no harm (RPC-07)', async () => {
    const { endpoint } = await live.serve({ topic: 'late', server: 'js' }, new Target());
    const error = await pythonError(
      pythonCall(caller, { topic: 'late', method: 'hold', args: { key: 'x' }, timeout: 1 }),
    );
    expect(error.type).to.equal('MessagingTimeout');
    endpoint.release('x');
    expect(await pythonCall(caller, { topic: 'late', method: 'who' })).to.equal('js');
  });
});

import assert from 'node:assert/strict';
import { Deadline, type RequestContext } from '@ebbgate/core';
import { type Case, type Group, test, testWith } from '../case.js';
import { Gate } from '../gate.js';
import type { Lab } from '../lab.js';
import { later } from '../later.js';
import { expectRuns } from '../runs.js';
import { numbered, textMessage, toFanout, toServer, toTopic } from '../test-message.js';
import { failsWith } from '../traits.js';

/** So long a message may live in these tests, and so much longer the broker's clock may take to notice. */
const SHORT_MS = 40;
const TICK_MS = 30;

async function expire(lab: Lab): Promise<void> {
  await lab.clockPasses(SHORT_MS + TICK_MS);
}

function shortLived(text: string, ms = SHORT_MS): ReturnType<typeof textMessage> {
  return textMessage(text, { deadline: Deadline.after(ms) });
}

/** A call with this time limit arrives, is answered, and its handler sees what is left. */
function timeLimit(what: string, timeoutMs: (lab: Lab) => number): Case {
  return test(`RPC: ${what} is a time limit that a handler can read (RPC-02, RPC-03)`, async (lab) => {
    const { sender, receiver } = await lab.pair();
    const target = lab.source();
    await lab.serve(receiver, target, { left: (context: RequestContext) => context.remainingMs });
    const limit = timeoutMs(lab);
    const left = await lab.until(
      lab.client(sender, target).prepare({ timeoutMs: limit }).call({}, 'left'),
      'a call',
    );
    assert.ok(
      typeof left === 'number' && left > 0 && left <= limit + 1000,
      `${String(left)} ms are left of ${String(limit)}`,
    );
  });
}

const raw: readonly Case[] = [
  testWith(['expiry'], 'the broker does not deliver a message after its deadline (RPC-02)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const source = lab.source();
    await lab.declare(receiver, source);
    await lab.send(sender, toTopic(source), shortLived('late'));
    await expire(lab);
    const inbox = await lab.listen(receiver, source, { settling: 'accept' });
    await lab.send(sender, toTopic(source), 'in time');
    await lab.expectOnce(sender, [inbox], ['in time']);
  }),

  testWith(['expiry'], 'expired messages keep nothing from those behind them (RPC-02)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const source = lab.source();
    await lab.declare(receiver, source);
    for (const text of numbered('late', 5)) await lab.send(sender, toServer(source), shortLived(text));
    await lab.send(sender, toServer(source), textMessage('never', { deadline: undefined }));
    await lab.send(sender, toServer(source), shortLived('later', 60_000));
    await expire(lab);
    const inbox = await lab.listen(receiver, source, { settling: 'accept' });
    await lab.expectOnce(sender, [inbox], ['later', 'never']);
  }),

  testWith(['expiry', 'fanout'], 'fanouts expire like others (RPC-02)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const source = lab.source();
    const inbox = await lab.listen(receiver, source, { settling: 'accept' });
    await lab.until(inbox.listener.pause(), 'pause()');
    await lab.send(sender, toFanout(source), shortLived('late'));
    await lab.send(sender, toFanout(source), 'in time');
    await expire(lab);
    await lab.until(inbox.listener.resume(), 'resume()');
    await lab.expectOnce(sender, [inbox], ['in time']);
  }),

  testWith(
    ['expiry', 'release'],
    'a message that was released after its deadline does not come again (RPC-02)',
    async (lab) => {
      const { sender, receiver } = await lab.pair();
      const source = lab.source();
      const inbox = await lab.listen(receiver, source);
      await lab.send(sender, toTopic(source), shortLived('late', lab.waitMs / 8));
      const delivery = await inbox.next();
      await lab.clockPasses(lab.waitMs / 8 + TICK_MS);
      delivery.release();
      await lab.send(sender, toTopic(source), 'in time');
      assert.equal(await inbox.acceptNext(), 'in time');
    },
  ),

  test('a message is delivered as long as its deadline has not passed (RPC-02)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const source = lab.source();
    await lab.declare(receiver, source);
    for (const ms of [1e9, 12_345.678, 86_400_000.5])
      await lab.send(sender, toServer(source), shortLived(String(ms), ms));
    const inbox = await lab.listen(receiver, source, { settling: 'accept' });
    await lab.expectOnce(sender, [inbox], ['1000000000', '12345.678', '86400000.5']);
  }),
];

const rpc: readonly Case[] = [
  test('RPC: no server runs a request whose caller has given up (RPC-02)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const target = lab.source();
    await lab.declare(receiver, target);
    const client = lab.client(sender, target).prepare({ server: target.server });
    const error = await failsWith(
      lab,
      'ERR_TIMEOUT',
      client.prepare({ timeoutMs: SHORT_MS }).call({}, 'run', { n: 1 }),
      'call()',
    );
    assert.equal(error.outcome, 'unknown');
    await lab.clockPasses(TICK_MS);
    const runs: number[] = [];
    await lab.serve(receiver, target, { run: (_: unknown, { n }: { n: number }) => runs.push(n) });
    await lab.until(client.call({}, 'run', { n: 2 }), 'a call');
    expectRuns(lab, runs, [2]);
  }),

  test('RPC: a request that expires while it waits for a slot does not run (RPC-02, AMQP-29)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const target = lab.source();
    const gate = new Gate();
    const runs: string[] = [];
    const hold = (): Promise<void> => gate.opened;
    const server = await lab.serve(
      receiver,
      target,
      { hold, late: () => runs.push('late'), ping: () => 'pong' },
      { slots: 1 },
    );
    const client = lab.client(sender, target);
    const held = later(client.call({}, 'hold'));
    await failsWith(lab, 'ERR_TIMEOUT', client.prepare({ timeoutMs: SHORT_MS }).call({}, 'late'), 'call()');
    await lab.clockPasses(TICK_MS);
    gate.open();
    await lab.until(held, 'the call that ran');
    assert.equal(await lab.until(client.call({}, 'ping'), 'a call'), 'pong');
    assert.deepEqual(runs, []);
    assert.equal(server.waiting, 0);
  }),

  test('RPC: an answer that comes too late harms no other call (RPC-07)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const target = lab.source();
    const gate = new Gate();
    await lab.serve(receiver, target, { slow: () => gate.opened.then(() => 'slow'), quick: () => 'quick' });
    const client = lab.client(sender, target);
    await failsWith(lab, 'ERR_TIMEOUT', client.prepare({ timeoutMs: SHORT_MS }).call({}, 'slow'), 'call()');
    gate.open();
    assert.equal(await lab.until(client.call({}, 'quick'), 'a call'), 'quick');
  }),

  test('RPC: a nested call has no more time than the call that is served (RPC-03)', async (lab) => {
    const { sender, receiver } = await lab.pair();
    const outer = lab.source();
    const inner = lab.source();
    const nested = lab.client(receiver, inner).prepare({ timeoutMs: 3_600_000 });
    await lab.serve(receiver, inner, { left: (context: RequestContext) => context.remainingMs });
    await lab.serve(receiver, outer, { via: () => nested.call(undefined, 'left') });
    const left = await lab.until(lab.client(sender, outer).call({}, 'via'), 'a call');
    assert.ok(
      typeof left === 'number' && left <= lab.waitMs + 1000,
      `${String(left)} ms are left of ${String(lab.waitMs)}`,
    );
  }),

  timeLimit('a whole number of milliseconds', ({ waitMs }) => Math.floor(waitMs)),
  timeLimit('a fraction of milliseconds', ({ waitMs }) => waitMs - 0.625),
];

export const expiry: Group = { name: 'expiry', cases: [...raw, ...rpc] };

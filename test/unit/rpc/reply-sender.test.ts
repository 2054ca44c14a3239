import {
  createTransport,
  type Destination,
  MessageDeliveryError,
  MessageUndeliverableError,
  timers,
  type Transport,
  type WireMessage,
} from '@ebbgate/core';
import { readReply, type RpcReply } from '#rpc/envelope.js';
import { ReplySender } from '#rpc/reply-sender.js';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { bytesDriver } from '../../support/bytes-driver.js';
import { CapturedLog } from '../../support/captured-log.js';
import { deferred, rejectionOf, turn, until } from '../../support/deferred.js';
import { onFakeClock } from '../../support/fake-clock.js';
import { MARKER, useBed } from '../../support/rpc-bed.js';

interface Rig {
  readonly sender: ReplySender;
  readonly transport: Transport;
  readonly log: CapturedLog;
  readonly dropped: unknown[];
  /** Milliseconds since the start at which each publish was tried, and to where. */
  readonly tries: [number, string][];
  /** Addresses that exist. */
  readonly there: Set<string>;
}

let brokers = 0;

/** A sender over a broker whose reply queues come and go as the test says. */
async function rig(mostBytes?: number): Promise<Rig> {
  const there = new Set<string>();
  const tries: [number, string][] = [];
  const log = new CapturedLog();
  const startedAt = performance.now();
  const driver = bytesDriver((destination: Destination) => {
    if (destination.kind !== 'reply') return;
    tries.push([Math.round(performance.now() - startedAt), destination.address]);
    if (!there.has(destination.address)) throw new MessageUndeliverableError('no such queue');
  });
  brokers += 1;
  const transport = createTransport(`memory://reply-sender-${String(brokers)}/`, {
    drivers: [driver],
    logger: log,
  });
  const dropped: unknown[] = [];
  transport.events.on('dropped', (event) => dropped.push(event));
  await transport.connect();
  return { sender: new ReplySender(transport, mostBytes), transport, log, dropped, tries, there };
}

const reply = (msgId: string): RpcReply => ({ msgId, result: MARKER, failure: null, ending: true });

/** Opens the real queue of an address, so that a try that is let through arrives. */
async function withQueue(transport: Transport): Promise<{ address: string; got: WireMessage[] }> {
  const got: WireMessage[] = [];
  const queue = await transport.openReplyQueue((message) => got.push(message));
  return { address: queue.address, got };
}

/** Whoever sends finds out what became of it. */
function passOn(error: unknown): never {
  throw error;
}

describe('replies whose queue is missing', () => {
  it('are tried again every 250 ms in the background, and arrive when the queue is back (AMQP-25)', async () => {
    await onFakeClock(async (clock) => {
      const { sender, transport, there, tries, log } = await rig();
      const { address, got } = await withQueue(transport);
      expect(sender.send(address, reply('a'), passOn)).to.equal(undefined);
      expect(sender.retrying).to.equal(1);
      await clock.tickAsync(1100);
      expect(tries).to.have.length(5);
      there.add(address);
      await clock.tickAsync(300);
      expect(got.map((message) => readReply(message).msgId)).to.deep.equal(['a']);
      expect([sender.retrying, timers.size]).to.deep.equal([0, 0]);
      expect(log.lines).to.deep.equal([]);
      await clock.tickAsync(5000);
      expect(tries).to.have.length(6);
      await transport.close();
    });
  });

  it('are given up after 60 s with one warning, and the queue then gets no second try for 60 s (AMQP-25)', async () => {
    await onFakeClock(async (clock) => {
      const { sender, transport, tries, log, dropped } = await rig();
      await sender.send('gone', reply('a'), passOn);
      await clock.tickAsync(59_500);
      expect(log.at('warn')).to.deep.equal([]);
      await clock.tickAsync(1500);
      expect(tries.length).to.be.within(220, 242);
      expect(log.at('warn').map(({ fields }) => fields)).to.deep.equal([{ address: 'gone', msgId: 'a' }]);
      expect(dropped).to.have.length(1);
      expect(dropped[0]).to.include({ reason: 'reply-undeliverable', messageId: 'a' });
      expect([sender.retrying, timers.size]).to.deep.equal([0, 0]);

      const before = tries.length;
      await sender.send('gone', reply('b'), passOn);
      expect(tries).to.have.length(before);
      expect(dropped).to.have.length(2);
      await clock.tickAsync(61_000);
      await sender.send('gone', reply('c'), passOn);
      expect(tries).to.have.length(before + 1);
      expect(sender.retrying).to.equal(1);
      sender.abandon();
      expect(log.ordinaryText()).to.not.contain(MARKER);
      await transport.close();
    });
  });

  it('are bounded by their bytes too; a further one is dropped at once (AMQP-01, AMQP-25)', async () => {
    await onFakeClock(async () => {
      const { sender, transport, dropped } = await rig(100_000);
      const big = { ...reply('big'), result: 'x'.repeat(40_000) };
      for (let sent = 0; sent < 3; sent += 1) await sender.send('gone', big, passOn);
      expect([sender.retrying, dropped.length]).to.deep.equal([2, 1]);
      sender.abandon();
      for (let sent = 0; sent < 3; sent += 1) await sender.send('gone', big, passOn);
      expect(sender.retrying).to.equal(2);
      sender.abandon();
      await transport.close();
    });
  });

  it('block no other reply (AMQP-25)', async () => {
    await onFakeClock(async () => {
      const { sender, transport, there } = await rig();
      const { address, got } = await withQueue(transport);
      there.add(address);
      for (let n = 0; n < 50; n += 1) await sender.send('gone', reply(`lost ${String(n)}`), passOn);
      await sender.send(address, reply('sent'), passOn);
      await turn();
      expect(got).to.have.length(1);
      expect(sender.retrying).to.equal(50);
      sender.abandon();
      await transport.close();
    });
  });

  it('are abandoned at the end with a line each, and leave no timer', async () => {
    const { sender, transport, log } = await rig();
    await sender.send('gone', reply('a'), passOn);
    await sender.send('gone too', reply('b'), passOn);
    sender.abandon();
    expect([sender.retrying, timers.size]).to.deep.equal([0, 0]);
    expect(log.lines.map(({ level, fields }) => [level, fields])).to.deep.equal([
      ['info', { address: 'gone' }],
      ['info', { address: 'gone too' }],
    ]);
    await transport.close();
  });

  it('are abandoned when the transport closes, too (CORE-05)', async () => {
    const { sender, transport } = await rig();
    await sender.send('gone', reply('a'), passOn);
    expect(timers.size).to.equal(1);
    await transport.close();
    expect([sender.retrying, timers.size]).to.deep.equal([0, 0]);
  });

  it('are bounded in number (AMQP-01)', async () => {
    const { sender, transport, dropped } = await rig();
    for (let n = 0; n < 10_005; n += 1) await sender.send('gone', reply(String(n)), passOn);
    expect(sender.retrying).to.equal(10_000);
    expect(dropped).to.have.length(5);
    await transport.close();
    expect(timers.size).to.equal(0);
  });

  it('are given back for every other reason: then the reply cannot be sent at all', async () => {
    const failure = new MessageDeliveryError('the broker refuses it');
    const driver = bytesDriver((destination) => {
      if (destination.kind === 'reply') throw failure;
    });
    const transport = createTransport('memory://refusing/', { drivers: [driver] });
    await transport.connect();
    const sender = new ReplySender(transport);
    const told: unknown[] = [];
    await sender.send('any', reply('a'), (error) => void told.push(error));
    expect(told).to.deep.equal([failure]);
    expect(() => sender.beat('any', 'a')).to.throw(failure);
    expect(sender.retrying).to.equal(0);
    await transport.close();
    await sender.send('any', reply('a'), (error) => void told.push(error));
    expect(told[1]).to.include({ code: 'ERR_TRANSPORT_CLOSED' });
  });
});

describe('replies that a driver refuses', () => {
  const LIMIT = 2000;
  const bed = useBed('objects', () => [
    bytesDriver((destination, message) => {
      if (destination.kind === 'reply' && message.body.size > LIMIT) {
        throw new MessageDeliveryError(`The broker takes at most ${String(LIMIT)} bytes`);
      }
    }),
  ]);

  it('because they are too large become an error for the caller, at once (RPC-17)', async () => {
    const server = await bed().serve({
      give: (_context: unknown, { size }: { size: number }) => 'x'.repeat(size),
    });
    expect(await bed().client().call({}, 'give', { size: 100 })).to.equal('x'.repeat(100));
    const error = await rejectionOf(bed().client().call({}, 'give', { size: 5000 }));
    expect(error).to.include({ code: 'ERR_DELIVERY', outcome: 'answered' });
    expect(error.message).to.contain('at most 2000 bytes');
    expect(await bed().client().call({}, 'give', { size: 1 })).to.equal('x');
    expect(server.running).to.equal(0);
  });

  it('together with the error that tells so are logged, and the server goes on (RPC-17, CORE-11)', async () => {
    const server = await bed().serve({
      fails: () => {
        throw new Error('y'.repeat(5000));
      },
      ok: () => 'ok',
    });
    const client = bed().client({ timeoutMs: 60 });
    expect(await rejectionOf(client.call({}, 'fails'))).to.include({ code: 'ERR_TIMEOUT' });
    expect(
      bed()
        .log.at('warn')
        .map(({ message }) => message),
    ).to.deep.equal(['A reply could not be sent']);
    expect(await client.call({}, 'ok')).to.equal('ok');
    expect(server.running).to.equal(0);
  });
});

describe('a caller that is gone when its reply is ready', () => {
  const bed = useBed();

  it('and a broker that takes no reply in time cost a line in the log, no error of the server (CORE-11)', async () => {
    const gate = deferred();
    const transport = bed().newTransport({ sendTimeoutMs: 20 });
    const server = await bed().serve({ slow: () => gate.promise }, {}, {}, transport);
    const call = rejectionOf(bed().client({ timeoutMs: 200 }).call({}, 'slow'));
    await until(() => server.running === 1);
    bed().faults.stall();
    gate.resolve();
    await until(() => server.running === 0);
    expect(
      bed()
        .log.at('warn')
        .map(({ message }) => message),
    ).to.deep.equal(['A reply could not be sent']);
    expect(bed().errors).to.deep.equal([]);
    bed().faults.resume();
    expect(await call).to.include({ code: 'ERR_TIMEOUT' });
  });

  it('holds up neither the server nor its end (AMQP-25, CORE-03)', async () => {
    const gate = deferred();
    const server = await bed().serve({ slow: () => gate.promise });
    const other = bed().newTransport();
    const call = rejectionOf(bed().client({}, {}, other).call({}, 'slow'));
    await until(() => server.running === 1);
    await other.close();
    expect(await call).to.include({ code: 'ERR_TRANSPORT_CLOSED' });
    gate.resolve();
    await until(() => server.running === 0);
    await server.stop();
    expect(await server.wait({ timeoutMs: 1000 })).to.deep.equal({ unconfirmed: [] });
    expect(
      bed()
        .log.at('info')
        .map(({ message }) => message),
    ).to.deep.equal(['A reply was dropped: its caller is gone']);
  });
});

import { timers, type WireMessage } from '@ebbgate/core';
import { CallMonitor } from '#rpc/call-monitor.js';
import { readReply } from '#rpc/envelope.js';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { deferred, rejectionOf, turn, until } from '../../support/deferred.js';
import { onFakeClock } from '../../support/fake-clock.js';
import { plainMessage, publish } from '../../support/requests.js';
import { FORMS, type RpcBed, useBed } from '../../support/rpc-bed.js';

describe('CallMonitor', () => {
  it('gives a sign of life twice per interval until it is ended (RPC-04)', async () => {
    await onFakeClock(async (clock) => {
      const beats: number[] = [];
      const startedAt = performance.now();
      const monitor = new CallMonitor(1000, () => {
        beats.push(performance.now() - startedAt);
        return undefined;
      });
      await clock.tickAsync(3100);
      expect(beats).to.have.length(6);
      beats.forEach((at, index) => {
        expect(at).to.be.within(500 * (index + 1), 500 * (index + 1) + 60);
      });
      monitor.end();
      monitor.end();
      await clock.tickAsync(3000);
      expect(beats).to.have.length(6);
      expect(timers.size).to.equal(0);
    });
  });

  it('ends when one cannot be delivered, whether it throws or rejects (RPC-04, CORE-11)', async () => {
    await onFakeClock(async (clock) => {
      for (const beat of [
        (): Promise<void> => Promise.reject(new Error('gone')),
        (): never => {
          throw new Error('gone');
        },
      ]) {
        let beats = 0;
        const monitor = new CallMonitor(100, () => {
          beats += 1;
          return beat();
        });
        await clock.tickAsync(1000);
        expect(beats).to.equal(1);
        expect(timers.size).to.equal(0);
        monitor.end();
      }
    });
  });

  it('does not pile up signs of life behind a broker that holds one up (AMQP-01)', async () => {
    await onFakeClock(async (clock) => {
      const gate = deferred();
      let beats = 0;
      const monitor = new CallMonitor(100, () => {
        beats += 1;
        return gate.promise;
      });
      await clock.tickAsync(5000);
      expect(beats).to.equal(1);
      gate.resolve();
      await clock.tickAsync(60);
      expect(beats).to.equal(2);
      monitor.end();
    });
  });
});

for (const form of FORMS) {
  describe(`a monitored call with messages as ${form}`, () => {
    const bed = useBed(form);

    it('lives as long as its handler, far beyond the interval (RPC-04)', async () => {
      const gate = deferred<string>();
      await bed().serve({ slow: () => gate.promise });
      await onFakeClock(async (clock) => {
        const call = bed().client({ timeoutMs: 60_000, callMonitorTimeoutMs: 200 }).call({}, 'slow');
        await clock.tickAsync(3000);
        expect(bed().pending).to.equal(1);
        gate.resolve('at last');
        expect(await call).to.equal('at last');
        expect(timers.size).to.equal(0);
      });
    });

    it('fails early when the server is cut off (RPC-04)', async () => {
      const gate = deferred();
      const server = await bed().serve({ slow: () => gate.promise }, {}, {}, bed().newTransport());
      await onFakeClock(async (clock) => {
        const startedAt = performance.now();
        const call = rejectionOf(bed().client({ callMonitorTimeoutMs: 200 }).call({}, 'slow'));
        await clock.tickAsync(1000);
        expect([bed().pending, server.running]).to.deep.equal([1, 1]);
        bed().faults.stall();
        await clock.tickAsync(400);
        expect(await call).to.include({ code: 'ERR_TIMEOUT' });
        expect(performance.now() - startedAt).to.be.within(1000, 1401);
        bed().faults.resume();
        gate.resolve();
        await clock.tickAsync(100);
      });
    });

    for (const [name, method, version] of [
      ['an unknown method', 'nope', null],
      ['an unknown version', 'slow', '7.0'],
      ['a method that throws', 'fails', null],
      ['a method that is done at once', 'quick', null],
      ['an unsendable result', 'unsendable', null],
    ] as const) {
      it(`leaves nothing running after ${name} (RPC-04, RPC-07)`, async () => {
        await bed().serve({
          slow: () => 1,
          quick: () => 1,
          unsendable: () => () => {},
          fails: () => {
            throw new Error('no');
          },
        });
        const client = bed().client({ callMonitorTimeoutMs: 200 }).prepare({ version });
        await Promise.allSettled([client.call({}, method)]);
        expect(timers.size).to.equal(0);
      });
    }
  });
}

describe('the signs of life of a server', () => {
  const bed = useBed();

  /** A call by hand, whose replies all are kept. */
  async function replies(use: RpcBed, method: string): Promise<WireMessage[]> {
    const got: WireMessage[] = [];
    const queue = await use.transport.openReplyQueue((message) => got.push(message));
    const call = { method, msgId: 'the-call', replyTo: queue.address, monitorMs: 200 };
    await publish(use.transport, plainMessage(call));
    return got;
  }

  it('come before the reply, and none after it (RPC-04)', async () => {
    const gate = deferred<string>();
    await bed().serve({ slow: () => gate.promise });
    await onFakeClock(async (clock) => {
      const got = await replies(bed(), 'slow');
      await clock.tickAsync(1000);
      gate.resolve('done');
      await clock.tickAsync(2000);
      const read = got.map(readReply);
      expect(read.length).to.be.within(9, 11);
      expect(read.map(({ ending }) => ending)).to.deep.equal(
        read.map((_, index) => index === read.length - 1),
      );
      expect(read.at(-1)).to.include({ result: 'done', failure: null, msgId: 'the-call' });
      for (const beat of read.slice(0, -1)) expect(beat).to.include({ result: null, failure: null });
    });
  });

  it('end when the caller is gone, and the handler goes on', async () => {
    const gate = deferred();
    const server = await bed().serve({ slow: () => gate.promise });
    const other = bed().newTransport();
    const call = rejectionOf(bed().client({ callMonitorTimeoutMs: 40 }, {}, other).call({}, 'slow'));
    await until(() => server.running === 1);
    await other.close();
    await call;
    await until(() => timers.size === 0);
    expect(server.running).to.equal(1);
    gate.resolve();
    await turn();
  });
});

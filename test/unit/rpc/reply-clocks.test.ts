import { timers, type WireMessage } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { rejectionOf } from '../../support/deferred.js';
import { onFakeClock } from '../../support/fake-clock.js';
import { scriptedClient } from '../../support/scripted-driver.js';

describe('the clocks of a pending call', () => {
  it('time out at the deadline and not before, one time-out per call (RPC-01, RPC-02)', async () => {
    await onFakeClock(async (clock) => {
      const { client, waiters } = scriptedClient();
      const outcomes: [number, string][] = [];
      const startedAt = performance.now();
      for (const timeoutMs of [100, 1000.5, 60_000]) {
        client
          .prepare({ timeoutMs })
          .call({}, 'm')
          .catch((error: unknown) => {
            outcomes.push([performance.now() - startedAt, String(error)]);
          });
      }
      await clock.tickAsync(99);
      expect(outcomes).to.deep.equal([]);
      await clock.tickAsync(70_000);
      const times = outcomes.map(([at]) => at);
      expect(times[0]).to.be.within(100, 110);
      expect(times[1]).to.be.within(1000.5, 1011);
      expect(times[2]).to.be.within(60_000, 60_010);
      expect([waiters.pending, timers.size]).to.deep.equal([0, 0]);
    });
  });

  it('fail early when signs of life are missed, which never extend the deadline (RPC-04)', async () => {
    await onFakeClock(async (clock) => {
      const { driver, client } = scriptedClient();
      let request: WireMessage | undefined;
      driver.publish = (_destination, message) => {
        request = message;
      };
      const startedAt = performance.now();
      const outcome = async (timeoutMs: number): Promise<[number, string]> => {
        const call = client.prepare({ timeoutMs, callMonitorTimeoutMs: 1000 }).call({}, 'm');
        const error = await rejectionOf(call);
        return [performance.now() - startedAt, error.message];
      };
      const silent = outcome(30_000);
      await clock.tickAsync(900);
      if (request) driver.answer(request, { result: null, ending: false });
      await clock.tickAsync(3000);
      const [silentAt, why] = await silent;
      expect(silentAt).to.be.within(1900, 1910);
      expect(why).to.contain('No sign of life from the server for 1000 ms');

      const alive = outcome(5000);
      for (let n = 0; n < 20; n += 1) {
        await clock.tickAsync(500);
        if (request) driver.answer(request, { result: null, ending: false });
      }
      const [aliveAt, late] = await alive;
      expect(aliveAt - 3900).to.be.within(5000, 5010);
      expect(late).to.contain('Timed out waiting for a reply');
    });
  });

  it('wait once more for a sign of life when this process was held up itself (RPC-04)', async () => {
    await onFakeClock(async (clock) => {
      const { driver, client } = scriptedClient();
      let request: WireMessage | undefined;
      driver.publish = (_destination, message) => {
        request = message;
      };
      const startedAt = performance.now();
      const call = client.prepare({ timeoutMs: 60_000, callMonitorTimeoutMs: 1000 }).call({}, 'm');
      const failed = rejectionOf(call).then(({ message }) => [message, performance.now() - startedAt]);
      await clock.tickAsync(0);
      clock.jump(5000);
      if (request) driver.answer(request, { result: null, ending: false }); // it had come meanwhile
      await clock.tickAsync(900);
      clock.jump(5000);
      await clock.tickAsync(1000);
      const [why, failedAt] = await failed;
      expect(why).to.contain('No sign of life from the server for 1000 ms');
      expect(failedAt).to.be.within(11_400, 11_410);
    });
  });

  it('are not touched by a sign of life to a call without a monitor', async () => {
    await onFakeClock(async (clock) => {
      const { driver, client } = scriptedClient();
      driver.publish = (_destination, message) => {
        driver.answer(message, { result: null, ending: false });
        setTimeout(() => driver.answer(message, { result: 'in the end' }), 5000);
      };
      const call = client.call({}, 'm');
      await clock.tickAsync(6000);
      expect(await call).to.equal('in the end');
    });
  });
});

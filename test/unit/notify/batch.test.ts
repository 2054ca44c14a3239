import {
  type BatchEndpoint,
  NotificationListener,
  type NotificationListenerOptions,
  type ReceivedNotification,
  REQUEUE,
} from '@ebbgate/notify';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { z } from 'zod';
import { deferred, until } from '../../support/deferred.js';
import { Collecting, useNotifyBed } from '../../support/notify-bed.js';
import { FORMS } from '../../support/rpc-bed.js';

type Batch = readonly ReceivedNotification[];

const FAST = { requeueDelayMs: 1, maxRequeueDelayMs: 2 };

for (const form of FORMS) {
  describe(`a listener that takes batches, messages as ${form}`, () => {
    const bed = useNotifyBed(form);

    async function listen(
      endpoint: BatchEndpoint,
      size: number,
      timeoutMs: number,
      options: NotificationListenerOptions = {},
    ): Promise<NotificationListener> {
      const targets = [{ topic: 'notifications' }];
      const all = { ...FAST, ...options, batch: { size, timeoutMs } };
      return bed().start(new NotificationListener(bed().transport, targets, [endpoint], all));
    }

    async function send(...payloads: readonly unknown[]): Promise<void> {
      for (const payload of payloads) await bed().notifier().info({}, 'e', payload);
    }

    it('ends a batch at its size, and one that is not full at its time', async () => {
      const batches: unknown[][] = [];
      await listen({ info: (batch: Batch) => void batches.push(batch.map(({ payload }) => payload)) }, 3, 30);
      await send(0, 1, 2, 3, 4, 5, 6);
      await until(() => batches.length === 3);
      expect(batches).to.deep.equal([[0, 1, 2], [3, 4, 5], [6]]);
    });

    it('gives each method those of its priority that it wants', async () => {
      const seen: string[] = [];
      const endpoint: BatchEndpoint = {
        info: (batch: Batch) => void seen.push(`info ${String(batch.length)}`),
        error: (batch: Batch) => void seen.push(`error ${String(batch.length)}`),
      };
      await listen(endpoint, 3, 5000);
      await send(1, 2);
      await bed().notifier().error({}, 'e', 3);
      await until(() => seen.length === 2);
      expect(seen.toSorted()).to.deep.equal(['error 1', 'info 2']);
    });

    it('acknowledges a batch when its methods have ended, and hands back at stop() what has none yet', async () => {
      const gate = deferred();
      const first: unknown[][] = [];
      const handle = async (batch: Batch): Promise<void> => {
        first.push(batch.map(({ payload }) => payload));
        await gate.promise;
      };
      const listener = await listen({ info: handle }, 2, 60_000);
      await send(0, 1, 2);
      await until(() => first.length === 1);
      await listener.stop();
      gate.resolve();
      await listener.wait();
      const rest = new Collecting();
      await bed().listen([rest.endpoint]);
      await until(() => rest.seen.length === 1);
      expect([first, rest.payloads]).to.deep.equal([[[0, 1]], [2]]);
    });

    it('hands back at stop() a batch that is not full', async () => {
      const listener = await listen({ info: () => expect.fail('it was not full') }, 3, 60_000);
      await send(0, 1);
      await until(() => listener.running === 2);
      await listener.stop();
      await listener.wait();
      const rest = new Collecting();
      await bed().listen([rest.endpoint]);
      await until(() => rest.seen.length === 2);
      expect(rest.payloads).to.deep.equal([0, 1]);
    });

    it('hands back those that a method returns, and no others', async () => {
      const batches: unknown[][] = [];
      const handle = (batch: Batch): unknown => {
        batches.push(batch.map(({ payload }) => payload));
        return batch.filter(({ payload, attempts }) => payload === 1 && attempts === 0);
      };
      const listener = await listen({ info: handle }, 3, 5000);
      await send(0, 1, 2);
      await until(() => batches.length === 2);
      expect(batches).to.deep.equal([[0, 1, 2], [1]]);
      expect(listener.counts).to.include({ requeued: 1, exhausted: 0 });
    });

    it('handles by itself what failed in a batch, so that one bad notification takes no other with it (AMQP-28)', async () => {
      const good: unknown[] = [];
      const handle = (batch: Batch): unknown => {
        if (batch.some(({ payload }) => payload === 'poison')) return REQUEUE;
        good.push(...batch.map(({ payload }) => payload));
        return undefined;
      };
      const listener = await listen({ info: handle }, 3, 5000, { maxRequeues: 2 });
      await send(0, 'poison', 2);
      await until(() => good.length === 2 && listener.counts.exhausted === 1);
      expect(good.toSorted()).to.deep.equal([0, 2]);
      expect(bed().dropped.map(({ reason }) => reason)).to.deep.equal(['exhausted']);
    });

    it('leaves out a payload that does not fit, which is rejected and told', async () => {
      const seen: unknown[] = [];
      const endpoint = {
        payloads: { e: z.object({ n: z.coerce.number() }) },
        info: (batch: Batch) => void seen.push(...batch.map(({ payload }) => payload)),
      };
      await listen(endpoint, 2, 5000);
      await send({ n: '7' }, { n: 'not-a-number' });
      await until(() => seen.length === 1 && bed().dropped.length === 1);
      expect(seen).to.deep.equal([{ n: 7 }]);
      expect(bed().dropped[0]).to.include({ reason: 'malformed' });
      expect(bed().dropped[0]?.detail).to.include('at n').and.not.include('not-a-number');
    });
  });
}

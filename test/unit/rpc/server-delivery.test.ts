import { type RequestContext } from '@ebbgate/core';
import type { ServerRequest } from '@ebbgate/rpc';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { deferred, rejectionOf, turn, until } from '../../support/deferred.js';
import { plainMessage, publish } from '../../support/requests.js';
import { FORMS, SERVER, TOPIC, useBed } from '../../support/rpc-bed.js';

for (const form of FORMS) {
  describe(`what an RpcServer does with deliveries, messages as ${form}`, () => {
    const bed = useBed(form);

    it('runs a message once that arrives twice, and acknowledges the second (RPC-19)', async () => {
      const seen: unknown[] = [];
      const server = await bed().serve({ note: (_context: RequestContext, args: object) => seen.push(args) });
      const request = { method: 'note', args: { n: 1 } };
      await publish(bed().transport, plainMessage(request));
      await publish(bed().transport, plainMessage(request));
      await publish(
        bed().transport,
        plainMessage({ method: 'note', args: { n: 2 }, uniqueId: 'e'.repeat(32) }),
      );
      await until(() => seen.length === 2);
      await turn();
      expect(seen).to.deep.equal([{ n: 1 }, { n: 2 }]);
      expect(server.counts).to.include({ run: 2, duplicate: 1 });
      expect(bed().dropped.map(({ reason }) => reason)).to.deep.equal(['duplicate']);
    });

    it('takes messages without an id as they come', async () => {
      const seen: unknown[] = [];
      await bed().serve({ note: () => seen.push(1) });
      for (let n = 0; n < 3; n += 1) {
        await publish(bed().transport, plainMessage({ method: 'note', uniqueId: undefined }));
      }
      await until(() => seen.length === 3);
    });

    it('never runs a request whose caller has given up, also one that waited for a slot (RPC-02)', async () => {
      const seen: string[] = [];
      const gate = deferred();
      const server = await bed().serve(
        {
          async work(_context: RequestContext, { name }: { name: string }) {
            seen.push(name);
            await gate.promise;
          },
        },
        { slots: 1 },
      );
      const first = bed().client().call({}, 'work', { name: 'first' });
      await until(() => seen.length === 1);
      const second = bed().client({ timeoutMs: 20 }).call({}, 'work', { name: 'second' });
      expect(await rejectionOf(second)).to.include({ code: 'ERR_TIMEOUT' });
      expect(server.waiting).to.equal(1);
      gate.resolve();
      await first;
      await until(() => server.counts.expired === 1);
      expect(seen).to.deep.equal(['first']);
      expect(bed().dropped.map(({ reason }) => reason)).to.deep.equal(['expired']);
    });

    it('lets replies through while requests wait for slots and credit (RPC-18)', async () => {
      await bed().serve({ leaf: () => 'leaf' }, { slots: 1, prefetch: 1 }, { topic: 'leaf' });
      const leaf = bed().client({}, { topic: 'leaf' });
      await bed().serve({ nested: () => leaf.call(undefined, 'leaf') }, { slots: 2, prefetch: 1 });
      const client = bed().client();
      const calls = Array.from({ length: 50 }, () => client.call({}, 'nested'));
      expect(new Set(await Promise.all(calls))).to.deep.equal(new Set(['leaf']));
    });

    it('runs at most as many handlers at once as it has slots', async () => {
      let running = 0;
      let most = 0;
      await bed().serve(
        {
          async work() {
            running += 1;
            most = Math.max(most, running);
            await turn();
            running -= 1;
          },
        },
        { slots: 3 },
      );
      await Promise.all(Array.from({ length: 30 }, () => bed().client().call({}, 'work')));
      expect(most).to.equal(3);
    });

    it('answers everything that it has taken before wait() resolves (CORE-03)', async () => {
      const gate = deferred();
      const server = await bed().serve({
        work: async () => {
          await gate.promise;
          return 'done';
        },
      });
      const calls = Array.from({ length: 20 }, () => bed().client().call({}, 'work'));
      await until(() => server.running === 20);
      await server.stop();
      let waited = false;
      const waiting = server.wait().then((report) => {
        waited = true;
        return report;
      });
      await turn();
      expect(waited).to.equal(false);
      gate.resolve();
      expect(await waiting).to.deep.equal({ unconfirmed: [] });
      expect(server.state).to.equal('drained');
      expect(new Set(await Promise.all(calls))).to.deep.equal(new Set(['done']));
    });

    it('does not resolve wait() before the broker has confirmed the last reply (CORE-03)', async () => {
      const gate = deferred();
      const server = await bed().serve({ work: () => gate.promise });
      const call = bed().client().call({}, 'work');
      await until(() => server.running === 1);
      await server.stop();
      bed().faults.stall(); // the reply is written, and nobody says that it has arrived
      const order: string[] = [];
      const waiting = server.wait().then(() => order.push('waited'));
      gate.resolve(undefined);
      await turn();
      await turn();
      order.push('confirmed');
      bed().faults.resume();
      await Promise.all([waiting, call]);
      expect(order).to.deep.equal(['confirmed', 'waited']);
    });
  });
}

describe('beforeAccept of an RpcServer', () => {
  const bed = useBed();

  it('runs before the method, sees the request, and a failure gives the request back (RPC-19)', async () => {
    const steps: string[] = [];
    const seen: ServerRequest[] = [];
    const server = await bed().serve(
      { work: () => steps.push('run') },
      {
        beforeAccept: async (request) => {
          await turn();
          seen.push(request);
          steps.push('journal');
          if (seen.length === 1) throw new Error('the disk is full');
        },
      },
    );
    await bed().client().call({ request_id: 'r1' }, 'work', { a: 1 });
    expect(steps).to.deep.equal(['journal', 'journal', 'run']);
    expect(seen[0]).to.deep.include({
      method: 'work',
      args: { a: 1 },
      isCall: true,
      topic: TOPIC,
      server: SERVER,
    });
    expect(seen[0]?.messageId).to.equal(seen[1]?.messageId);
    expect(seen[0]?.context.requestId).to.equal('r1');
    expect(bed().errors.map(({ message }) => message)).to.deep.equal(['the disk is full']);
    expect(server.counts).to.include({ released: 1, run: 1, duplicate: 0 });
  });

  it('lets one of two copies run that were being journalled at the same time (RPC-19)', async () => {
    const seen: unknown[] = [];
    const server = await bed().serve({ note: () => seen.push(1) }, { beforeAccept: () => turn() });
    await publish(bed().transport, plainMessage({ method: 'note' }));
    await publish(bed().transport, plainMessage({ method: 'note' }));
    await until(() => server.counts.run + server.counts.duplicate === 2);
    expect(seen).to.have.length(1);
    expect(server.counts).to.include({ run: 1, duplicate: 1 });
  });

  it('lets nothing run whose caller gave up while it was being journalled (RPC-02)', async () => {
    const seen: unknown[] = [];
    const gate = deferred();
    const server = await bed().serve({ work: () => seen.push(1) }, { beforeAccept: () => gate.promise });
    expect(await rejectionOf(bed().client({ timeoutMs: 20 }).call({}, 'work'))).to.include({
      code: 'ERR_TIMEOUT',
    });
    gate.resolve();
    await until(() => server.counts.expired + server.counts.run === 1);
    expect(seen).to.deep.equal([]);
  });
});

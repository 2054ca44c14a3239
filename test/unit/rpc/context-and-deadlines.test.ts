import { currentContext, Deadline, RequestContext, runWithContext } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { deferred, rejectionOf, turn, until } from '../../support/deferred.js';
import { plainMessage, publish } from '../../support/requests.js';
import { FORMS, MARKER, useBed } from '../../support/rpc-bed.js';

for (const form of FORMS) {
  describe(`the context of a request with messages as ${form}`, () => {
    const bed = useBed(form);

    it('arrives with its members, without a prototype and without members of ours (SEC-06)', async () => {
      const seen: RequestContext[] = [];
      await bed().serve({ m: (context: RequestContext) => seen.push(context) });
      const values = { request_id: 'req-1', roles: ['a', 'b'], nested: { k: 1 }, none: null, marker: MARKER };
      await bed().client().call(values, 'm');
      await bed().client().prepare({ callMonitorTimeoutMs: 4000 }).call(new RequestContext(values), 'm');
      for (const context of seen) {
        expect({ ...context.values }).to.deep.equal(values);
        expect(Object.getPrototypeOf(context.values)).to.equal(null);
        expect(context.requestId).to.equal('req-1');
      }
      expect(seen).to.have.length(2);
    });

    it('is empty when none is given, and leaves out what is undefined', async () => {
      const seen: object[] = [];
      await bed().serve({ m: (context: RequestContext) => seen.push({ ...context.values }) });
      await bed().client().call(undefined, 'm');
      await bed().client().call({}, 'm');
      await bed().client().call({ a: undefined, b: 0 }, 'm');
      expect(seen).to.deep.equal([{}, {}, { b: 0 }]);
    });

    it('is found again below the handler and sent with calls that give none (RPC-03)', async () => {
      const seen: unknown[] = [];
      await bed().serve(
        { leaf: (context: RequestContext) => seen.push({ ...context.values }) },
        {},
        { topic: 'leaf' },
      );
      const leaf = bed().client({}, { topic: 'leaf' });
      await bed().serve({
        async nested(context: RequestContext) {
          expect(currentContext()).to.equal(context);
          await turn();
          expect(currentContext()).to.equal(context);
          await leaf.call(undefined, 'leaf');
          await leaf.call(context.with({ user: 'v' }), 'leaf');
          await leaf.call({ other: 1 }, 'leaf');
        },
      });
      await bed().client().call({ request_id: 'r', user: 'u' }, 'nested');
      expect(seen).to.deep.equal([
        { request_id: 'r', user: 'u' },
        { request_id: 'r', user: 'v' },
        { other: 1 },
      ]);
      expect(currentContext()).to.equal(undefined);
    });

    it('of one request is never that of another that runs at the same time', async () => {
      await bed().serve({
        async who(context: RequestContext) {
          await turn();
          return [context.values['n'], currentContext()?.values['n']];
        },
      });
      const calls = Array.from({ length: 50 }, (_, n) => bed().client().call({ n }, 'who'));
      expect(await Promise.all(calls)).to.deep.equal(Array.from({ length: 50 }, (_, n) => [n, n]));
    });

    it('does not leak from a sender into the handler of a cast', async () => {
      const seen: unknown[] = [];
      await bed().serve({ note: () => seen.push(currentContext()?.values['user']) });
      await runWithContext(new RequestContext({ user: 'sender' }), () =>
        bed().client().cast({ user: 'given' }, 'note'),
      );
      await until(() => seen.length === 1);
      expect(seen).to.deep.equal(['given']);
    });
  });

  describe(`the deadline of a call with messages as ${form}`, () => {
    const bed = useBed(form);

    it('is what a handler can read of its caller, and casts have none (RPC-03)', async () => {
      const left: number[] = [];
      await bed().serve({ m: (context: RequestContext) => left.push(context.remainingMs) });
      await bed().client({ timeoutMs: 5000 }).call({}, 'm');
      await bed().client({ timeoutMs: 5000 }).cast({}, 'm');
      await until(() => left.length === 2);
      expect(left[0]).to.be.within(3000, 5000);
      expect(left[1]).to.equal(Infinity);
    });

    it('bounds the calls made on its behalf, over any number of hops (RPC-03)', async () => {
      const left: number[] = [];
      const note = (context: RequestContext): void => {
        left.push(context.remainingMs);
      };
      await bed().serve({ c: note }, {}, { topic: 'c' });
      const c = bed().client({ timeoutMs: 90_000 }, { topic: 'c' });
      await bed().serve(
        {
          b: async (context: RequestContext) => {
            note(context);
            await c.call(undefined, 'c');
          },
        },
        {},
        { topic: 'b' },
      );
      const b = bed().client({ timeoutMs: 90_000 }, { topic: 'b' });
      await bed().serve({
        async a(context: RequestContext) {
          note(context);
          await b.call({ own: 'values' }, 'b');
          await b.prepare({ timeoutMs: 100 }).call(undefined, 'b');
          await b.call(undefined, 'b', {}, { detached: true });
          await b.call(context.detached(), 'b');
        },
      });
      await bed().client({ timeoutMs: 4000 }).call({}, 'a');
      const [a = 0, b1 = 0, c1 = 0, b2 = 0, c2 = 0, b3 = 0, c3 = 0, b4 = 0, c4 = 0] = left;
      expect([a, b1, c1].every((ms) => ms > 2000 && ms <= 4000)).to.equal(true);
      expect(b1).to.be.at.most(a + 1);
      expect(c1).to.be.at.most(b1 + 1);
      expect([b2, c2].every((ms) => ms <= 101)).to.equal(true);
      expect([b3, c3, b4, c4].every((ms) => ms > 80_000)).to.equal(true);
    });

    it('stops nested calls when the caller has given up, before anything is sent (RPC-03)', async () => {
      const seen: string[] = [];
      const outcome = deferred<Error>();
      const gate = deferred();
      await bed().serve({ leaf: () => seen.push('leaf') }, {}, { topic: 'leaf' });
      const leaf = bed().client({}, { topic: 'leaf' });
      await bed().serve({
        async late(context: RequestContext) {
          await gate.promise;
          expect(context.remainingMs).to.equal(0);
          outcome.resolve(await rejectionOf(leaf.call(undefined, 'leaf')));
          await leaf.call(undefined, 'leaf', {}, { detached: true });
          await runWithContext(context.detached(), () => leaf.call(undefined, 'leaf'));
          await leaf.call(context.detached(), 'leaf');
          await leaf.call(context.detached().with({ user: 'v' }), 'leaf');
        },
      });
      expect(await rejectionOf(bed().client({ timeoutMs: 1_000 }).call({}, 'late'))).to.include({
        code: 'ERR_TIMEOUT',
      });
      gate.resolve();
      const error = await outcome.promise;
      expect(error).to.include({ code: 'ERR_TIMEOUT', outcome: 'not-sent' });
      await until(() => seen.length === 4);
    });

    it('bounds nothing of what goes on once the call is answered, with a result or an error (RPC-03)', async () => {
      const asked = deferred();
      const left: Promise<unknown>[] = [];
      await bed().serve({ left: (context: RequestContext) => context.remainingMs }, {}, { topic: 'leaf' });
      const leaf = bed().client({ timeoutMs: 90_000 }, { topic: 'leaf' });
      const goOn = async (context: RequestContext): Promise<void> => {
        await asked.promise; // as a timer, or work that nobody waits for
        for (const given of [undefined, context, context.with({ user: 'v' })])
          left.push(leaf.call(given, 'left'));
      };
      await bed().serve({
        well: (context: RequestContext) => void goOn(context),
        async badly(context: RequestContext) {
          void goOn(context);
          await turn();
          throw new TypeError('no');
        },
      });
      await bed().client({ timeoutMs: 4000 }).call({}, 'well');
      await rejectionOf(bed().client({ timeoutMs: 4000 }).call({}, 'badly'));
      asked.resolve();
      await until(() => left.length === 6);
      for (const ms of await Promise.all(left)) expect(ms).to.be.above(80_000);
    });

    it('lets no request run once it has passed, and it is told as expired (RPC-02)', async () => {
      const seen: string[] = [];
      const server = await bed().serve({ m: (_context: unknown, { n }: { n: string }) => seen.push(n) });
      await server.stop();
      const late = bed().client({ timeoutMs: 20 }).call({}, 'm', { n: 'late' });
      const inTime = bed().client().call({}, 'm', { n: 'in time' });
      expect(await rejectionOf(late)).to.include({ code: 'ERR_TIMEOUT' });
      await server.wait();
      await server.start();
      await inTime;
      expect(seen).to.deep.equal(['in time']);
    });

    it('counts from the call, also while the first reply queue is being opened (RPC-02)', async () => {
      await bed().serve({ m: (context: RequestContext) => context.remainingMs });
      const fresh = bed().newTransport();
      const left = (await bed().client({ timeoutMs: 1000 }, {}, fresh).call({}, 'm')) as number;
      expect(left).to.be.within(1, 1000);
    });
  });
}

describe('a request whose deadline has passed when it is sent', () => {
  const bed = useBed();

  it('never reaches a handler (RPC-02)', async () => {
    const seen: unknown[] = [];
    const server = await bed().serve({ m: (_context: unknown, args: object) => seen.push(args) });
    await publish(bed().transport, plainMessage({ args: { late: true } }, Deadline.after(-1)));
    await bed().client().call({}, 'm', { late: false });
    expect(seen).to.deep.equal([{ late: false }]);
    expect(server.counts.run).to.equal(1);
  });
});

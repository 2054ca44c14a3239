import { expect } from 'chai';
import { describe, it } from 'mocha';
import { deferred, rejectionOf, turn, until } from '../../support/deferred.js';
import { SERVER, useBed } from '../../support/rpc-bed.js';

describe('aborting a call', () => {
  const bed = useBed();
  const reason = new Error('the user has left');

  it('sends nothing when the signal has been aborted before (RPC-07)', async () => {
    const seen: string[] = [];
    await bed().serve({ m: () => seen.push('m') });
    const { signal } = (() => {
      const controller = new AbortController();
      controller.abort(reason);
      return controller;
    })();
    expect(await rejectionOf(bed().client().call({}, 'm', {}, { signal }))).to.equal(reason);
    expect(await rejectionOf(bed().client().cast({}, 'm', {}, { signal }))).to.equal(reason);
    await turn();
    expect(seen).to.deep.equal([]);
  });

  it('rejects with the reason while the call is under way, and leaves nothing behind (RPC-07)', async () => {
    const gate = deferred<string>();
    const started = deferred();
    await bed().serve({
      slow: () => {
        started.resolve();
        return gate.promise;
      },
    });
    const controller = new AbortController();
    const call = bed().client().call({}, 'slow', {}, { signal: controller.signal });
    await started.promise;
    controller.abort(reason);
    expect(await rejectionOf(call)).to.equal(reason);
    expect(bed().pending).to.equal(0);
    gate.resolve('late');
  });

  it('does not send what was aborted while the reply queue was being opened', async () => {
    const seen: string[] = [];
    const transport = bed().newTransport();
    await bed().serve({ m: () => seen.push('m') });
    const controller = new AbortController();
    const call = bed().client({}, {}, transport).call({}, 'm', {}, { signal: controller.signal });
    controller.abort(reason);
    expect(await rejectionOf(call)).to.equal(reason);
    await bed().client({}, {}, transport).call({}, 'm');
    expect(seen).to.deep.equal(['m']);
  });

  it('has no effect afterwards, and keeps no listener on the signal', async () => {
    await bed().serve({ m: () => 'ok' });
    const controller = new AbortController();
    let listeners = 0;
    const { signal } = controller;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>): void => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>): void => {
      listeners -= 1;
      remove(...args);
    };
    expect(await bed().client().call({}, 'm', {}, { signal })).to.equal('ok');
    expect(listeners).to.equal(0);
    controller.abort(reason);
    expect(bed().pending).to.equal(0);
  });

  it('ends the waiting of a cast for a broker that is away', async () => {
    await bed().serve({ m: () => 1 });
    const client = bed().client();
    await client.call({}, 'm');
    bed().faults.stall();
    const controller = new AbortController();
    const cast = client.cast({}, 'm', {}, { signal: controller.signal });
    controller.abort(reason);
    expect(await rejectionOf(cast)).to.equal(reason);
    bed().faults.resume();
  });
});

describe('calls and the connection', () => {
  const bed = useBed();

  it('rejects all of 10,000 pending calls at once when the transport closes (RPC-01)', async () => {
    const gate = deferred();
    await bed().serve({ never: () => gate.promise }, {}, {}, bed().newTransport());
    const client = bed().client({ timeoutMs: 30_000 });
    const calls = Array.from({ length: 10_000 }, () => client.call({}, 'never'));
    const outcomes = Promise.allSettled(calls);
    await until(() => bed().pending === 10_000);
    const closing = bed().transport.close();
    expect(bed().pending).to.equal(0);
    const codes = new Set(
      (await outcomes).map((each) => each.status === 'rejected' && (each.reason as Error).name),
    );
    expect([...codes]).to.deep.equal(['TransportClosedError']);
    await closing;
    gate.resolve();
  });

  it('rejects calls and casts on a closed transport', async () => {
    await bed().serve({ m: () => 1 }, {}, {}, bed().newTransport());
    const client = bed().client();
    await client.call({}, 'm');
    await bed().transport.close();
    expect(await rejectionOf(client.call({}, 'm'))).to.include({ code: 'ERR_TRANSPORT_CLOSED' });
    expect(await rejectionOf(client.cast({}, 'm'))).to.include({ code: 'ERR_TRANSPORT_CLOSED' });
    const fresh = bed().newTransport();
    await fresh.close();
    expect(await rejectionOf(bed().client({}, {}, fresh).call({}, 'm'))).to.include({
      code: 'ERR_TRANSPORT_CLOSED',
    });
  });

  it('settles a call over a cut connection by the reply that comes after it (RPC-01)', async () => {
    const gate = deferred<string>();
    const started = deferred();
    await bed().serve({
      slow: () => {
        started.resolve();
        return gate.promise;
      },
    });
    const call = bed().client().call({}, 'slow');
    await started.promise;
    bed().faults.cut();
    gate.resolve('after the cut');
    await turn();
    bed().faults.restore();
    expect(await call).to.equal('after the cut');
  });

  it('settles a call by its time-out when the connection does not come back (RPC-01)', async () => {
    await bed().serve({ m: () => 1 });
    const client = bed().client({ timeoutMs: 40 });
    await client.call({}, 'm');
    bed().faults.cut();
    const error = await rejectionOf(client.call({}, 'm'));
    expect(error.code).to.be.oneOf(['ERR_TIMEOUT', 'ERR_DELIVERY']);
    expect(await rejectionOf(client.prepare({ retry: 0 }).call({}, 'm'))).to.include({
      code: 'ERR_DELIVERY',
    });
    bed().faults.restore();
  });

  it('settles a call by its time-out when the broker stalls, and the request never runs (RPC-01, RPC-02)', async () => {
    const seen: string[] = [];
    await bed().serve({ m: (_context: unknown, { n }: { n: string }) => seen.push(n) });
    const client = bed().client();
    await client.call({}, 'm', { n: 'first' });
    bed().faults.stall();
    const error = await rejectionOf(client.prepare({ timeoutMs: 30 }).call({}, 'm', { n: 'stalled' }));
    expect(error.code).to.be.oneOf(['ERR_TIMEOUT', 'ERR_DELIVERY']);
    bed().faults.resume();
    await client.call({}, 'm', { n: 'last' });
    expect(seen).to.deep.equal(['first', 'last']);
  });

  it('settles 500 calls each by its own reply, in whatever order the replies come (RPC-06)', async () => {
    const gates: (() => void)[] = [];
    await bed().serve(
      {
        hold: (_context: unknown, { n }: { n: number }) =>
          new Promise((resolve) => gates.push(() => resolve(n))),
      },
      { slots: 500, prefetch: 500 },
    );
    const client = bed().client();
    const calls = Array.from({ length: 500 }, (_, n) => client.call({}, 'hold', { n }));
    await until(() => gates.length === 500);
    for (const gate of gates.reverse()) gate();
    expect(await Promise.all(calls)).to.deep.equal(Array.from({ length: 500 }, (_, n) => n));
  });

  it('answers to the server that was named (AMQP-33)', async () => {
    await bed().serve({ who: () => SERVER });
    await bed().serve({ who: () => 'host-2' }, {}, { server: 'host-2' });
    const client = bed().client();
    expect(await client.prepare({ server: 'host-2' }).call({}, 'who')).to.equal('host-2');
    expect(await client.prepare({ server: SERVER }).call({}, 'who')).to.equal(SERVER);
  });
});

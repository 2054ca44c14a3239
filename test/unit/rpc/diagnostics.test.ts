import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { RequestContext } from '@ebbgate/core';
import { type CallDiagnostic, expectedExceptions, rpcDiagnostics } from '@ebbgate/rpc';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { rejectionOf, turn, until } from '../../support/deferred.js';
import { FORMS, MARKER, SERVER, TOPIC, useBed } from '../../support/rpc-bed.js';

describe('the diagnostics of calls', () => {
  const bed = useBed();
  const client: CallDiagnostic[] = [];
  const server: CallDiagnostic[] = [];
  const onClient = (one: unknown): void => void client.push(one as CallDiagnostic);
  const onServer = (one: unknown): void => void server.push(one as CallDiagnostic);

  beforeEach(() => {
    client.length = 0;
    server.length = 0;
    subscribe(rpcDiagnostics.client.name, onClient);
    subscribe(rpcDiagnostics.server.name, onServer);
  });

  afterEach(() => {
    unsubscribe(rpcDiagnostics.client.name, onClient);
    unsubscribe(rpcDiagnostics.server.name, onServer);
  });

  it('tell of each call and cast with its own names and outcome, on both sides (CORE-12)', async () => {
    await bed().serve({
      ok: () => 'ok',
      fails: () => {
        throw new TypeError('wrong');
      },
    });
    const caller = bed().client();
    await caller.call({ request_id: 'r1' }, 'ok', { marker: MARKER });
    await rejectionOf(caller.prepare({ server: SERVER }).call({ request_id: 'r2' }, 'fails'));
    await rejectionOf(caller.call({}, 'missing'));
    await caller.cast({}, 'ok');
    await until(() => server.length === 4);
    const brief = (one: CallDiagnostic): unknown[] => [
      one.kind,
      one.method,
      one.topic,
      one.server,
      one.requestId,
      one.outcome,
      one.code,
    ];
    expect(client.map(brief)).to.deep.equal([
      ['call', 'ok', TOPIC, undefined, 'r1', 'ok', undefined],
      ['call', 'fails', TOPIC, SERVER, 'r2', 'error', undefined],
      ['call', 'missing', TOPIC, undefined, undefined, 'error', 'ERR_NO_SUCH_METHOD'],
      ['cast', 'ok', TOPIC, undefined, undefined, 'ok', undefined],
    ]);
    expect(server.map(brief)).to.deep.equal([
      ['call', 'ok', TOPIC, SERVER, 'r1', 'ok', undefined],
      ['call', 'fails', TOPIC, SERVER, 'r2', 'error', undefined],
      ['call', 'missing', TOPIC, SERVER, undefined, 'error', 'ERR_NO_SUCH_METHOD'],
      ['cast', 'ok', TOPIC, SERVER, undefined, 'ok', undefined],
    ]);
    for (const one of [...client, ...server]) expect(one.durationMs).to.be.within(0, 5000);
    expect(JSON.stringify([client, server])).to.not.contain(MARKER);
  });

  it('keep the outcomes of calls apart that run at the same time (CORE-12)', async () => {
    await bed().serve({
      async odd(_context: unknown, { n }: { n: number }) {
        await turn();
        if (n % 2 === 1) throw new Error(String(n));
        return n;
      },
    });
    const calls = Array.from({ length: 40 }, (_, n) =>
      bed()
        .client()
        .call({ request_id: `r${String(n)}` }, 'odd', { n }),
    );
    await Promise.allSettled(calls);
    const wrong = [...client, ...server].filter(
      ({ requestId = '', outcome }) => (Number(requestId.slice(1)) % 2 === 1) !== (outcome === 'error'),
    );
    expect(wrong).to.deep.equal([]);
    expect([client.length, server.length]).to.deep.equal([40, 40]);
  });

  it('change nothing of what callers get for a thrown value that cannot be looked at (RPC-17, CORE-12)', async () => {
    const { proxy, revoke } = Proxy.revocable(new Error('x'), {});
    revoke();
    await bed().serve({
      fails: () => {
        throw proxy;
      },
    });
    const error = await rejectionOf(bed().client().call({}, 'fails'));
    expect(error).to.have.property('code', 'ERR_REMOTE');
    await until(() => server.length === 1);
    expect([server[0]?.outcome, server[0]?.code]).to.deep.equal(['error', undefined]);
  });

  it('change nothing of what callers see', async () => {
    await bed().serve({ zero: () => 0, sync: () => null });
    expect(await bed().client().call({}, 'zero')).to.equal(0);
    expect(await bed().client().call({}, 'sync')).to.equal(null);
    await bed().client().cast({}, 'zero');
    expect(await rejectionOf(bed().client({}, { fanout: true }).call({}, 'zero'))).to.include({
      code: 'ERR_INVALID_TARGET',
    });
  });
});

for (const form of FORMS) {
  describe(`the log of a server with messages as ${form}`, () => {
    const bed = useBed(form);

    it('tells of a failure with method, topic and request id, without secrets or arguments (RPC-08, SEC-04)', async () => {
      await bed().serve({
        text: () => {
          throw 'rabbit://nova:hunter2@broker/';
        },
        fails: () => {
          const cause = new Error('connecting to rabbit://nova:hunter2@broker/ failed');
          throw Object.assign(new Error('password=hunter2 refused', { cause }), {
            options: { url: 'rabbit://u:hunter2@h' },
          });
        },
      });
      const args = { marker: MARKER, nested: [{ marker: MARKER }] };
      await rejectionOf(bed().client().call({ request_id: 'r1', token: MARKER }, 'fails', args));
      await rejectionOf(bed().client().call({}, 'text', args));
      const [line] = bed().log.at('error');
      expect(line?.fields).to.include({ method: 'fails', topic: TOPIC, requestId: 'r1' });
      expect(bed().log.ordinaryText()).to.not.contain('hunter2').and.to.not.contain(MARKER);
    });

    it('takes only text for a request id (RPC-08)', async () => {
      await bed().serve({
        fails: () => {
          throw new Error('no');
        },
      });
      await rejectionOf(
        bed()
          .client()
          .call({ request_id: { a: MARKER } }, 'fails'),
      );
      expect(bed().log.at('error')[0]?.fields['requestId']).to.equal(undefined);
    });

    it('tells of expected failures at debug only', async () => {
      class NotFound extends Error {}
      await bed().serve({
        find: expectedExceptions([NotFound], (_context: RequestContext): void => {
          throw new NotFound('no such thing');
        }),
      });
      expect(await rejectionOf(bed().client().call({}, 'find'))).to.include({ remoteType: 'NotFound' });
      expect(bed().log.at('error')).to.deep.equal([]);
      expect(
        bed()
          .log.at('debug')
          .map(({ message }) => message),
      ).to.deep.equal(['A method threw an expected error']);
    });

    it('is not flooded by peers: names are cut, different ones counted beyond the first hundred (RPC-12)', async () => {
      const server = await bed().serve({});
      const client = bed().client();
      await client.cast({}, 'm'.repeat(100_000), {});
      for (let n = 0; n < 150; n += 1) await client.cast({}, `method-${String(n)}`);
      await until(() => server.counts.undispatchable === 151);
      expect(bed().log.at('warn')).to.have.length(100);
      expect(bed().log.ordinaryText().length).to.be.below(100_000);
      expect(bed().dropped).to.have.length(151);
      expect(bed().dropped[0]?.detail.length).to.be.below(300);
    });
  });
}

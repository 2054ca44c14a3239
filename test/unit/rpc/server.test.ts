import { ConfigurationError, InvalidTargetError, type RequestContext, Target } from '@ebbgate/core';
import { explicitAccessPolicy, legacyAccessPolicy, RpcServer, ValidationError } from '@ebbgate/rpc';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { deferred, rejectionOf, turn, until } from '../../support/deferred.js';
import { FORMS, MARKER, TOPIC, useBed } from '../../support/rpc-bed.js';

describe('an RpcServer when it is made', () => {
  const bed = useBed();

  it('needs a topic and a server, and good options', () => {
    for (const target of [{}, { topic: 't' }, { server: 's' }, { topic: '', server: 's' }]) {
      expect(() => new RpcServer(bed().transport, target, [])).to.throw(
        InvalidTargetError,
        /topic and server/,
      );
    }
    for (const options of [{ slots: 0 }, { slots: 1.5 }, { prefetch: 0 }, { duplicateWindow: -1 }]) {
      expect(() => bed().newServer([], options), JSON.stringify(options)).to.throw(ConfigurationError);
    }
  });

  it('refuses an unknown option and names all that there are (CORE-09)', () => {
    const misspelt: object = { acessPolicy: legacyAccessPolicy };
    expect(() => bed().newServer([], misspelt))
      .to.throw(ConfigurationError, '"acessPolicy"')
      .with.property('message')
      .that.includes('accessPolicy')
      .and.includes('beforeAccept')
      .and.includes('slots');
  });

  it('refuses options of a wrong type and names them, as a client does (CORE-09)', () => {
    const wrong: readonly (readonly [string, unknown])[] = [
      ['serializer', {}],
      ['serializer', 5],
      ['interceptors', 5],
      ['interceptors', [5]],
      ['remoteErrors', new Map()],
    ];
    const ofServers: typeof wrong = [
      ['accessPolicy', () => true],
      ['beforeAccept', 'journal'],
    ];
    for (const [name, value] of [...wrong, ...ofServers]) {
      const options: object = { [name]: value };
      expect(() => bed().newServer([], options)).to.throw(ConfigurationError, name);
    }
    for (const [name, value] of wrong) {
      const options: object = { [name]: value };
      expect(() => bed().client(options)).to.throw(ConfigurationError, name);
    }
  });

  it('refuses reserved attributes of the wrong type with a TypeError that names the endpoint (RPC-15)', () => {
    class Compute {
      target = { namespace: 'n' };
    }
    class Ops {
      exposed = 'all';
    }
    expect(() => bed().newServer(new Compute())).to.throw(TypeError, /"target" of endpoint Compute/);
    expect(() => bed().newServer([{}, new Ops()])).to.throw(TypeError, /"exposed" of endpoint Ops/);
    expect(() => bed().newServer([class Wrong extends Map {}])).to.throw(TypeError, /Wrong is no endpoint/);
  });
});

for (const form of FORMS) {
  describe(`an RpcServer with messages as ${form}`, () => {
    const bed = useBed(form);

    it('lets endpoints accept several namespaces, none included, and refuses others (RPC-14)', async () => {
      const target = new Target({ namespace: 'new', version: '1.3', legacyNamespaces: [null, 'old'] });
      await bed().serve({ target, m: () => 'ok' });
      const client = bed().client();
      for (const namespace of ['new', 'old', null]) {
        expect(await client.prepare({ namespace, version: '1.2' }).call({}, 'm')).to.equal('ok');
      }
      const error = await rejectionOf(client.prepare({ namespace: 'other', version: '1.2' }).call({}, 'm'));
      expect(error).to.include({
        code: 'ERR_UNSUPPORTED_VERSION',
        outcome: 'answered',
        method: 'm',
        version: '1.2',
      });
    });

    it('tells callers at once of unknown methods and versions, and of forbidden methods as unknown (RPC-12, SEC-02)', async () => {
      await bed().serve({ target: new Target({ version: '1.5' }), m: () => 1, _secret: () => 2 });
      const client = bed().client();
      for (const name of [
        'nope',
        '_secret',
        'target',
        'constructor',
        'toString',
        '__proto__',
        'hasOwnProperty',
      ]) {
        const error = await rejectionOf(client.call({}, name));
        expect(error, name).to.include({ code: 'ERR_NO_SUCH_METHOD', method: name });
        expect(error.message).to.equal(`Endpoint does not support RPC method ${name}`);
      }
      for (const version of ['1.6', '2.0', '0.9']) {
        const error = await rejectionOf(client.prepare({ version }).call({}, 'm'));
        expect(error, version).to.include({ code: 'ERR_UNSUPPORTED_VERSION', version, method: 'm' });
      }
      expect(await client.prepare({ version: '1.5' }).call({}, 'm')).to.equal(1);
    });

    it('logs an undispatchable cast once, tells of each by an event, and counts them (RPC-12)', async () => {
      const server = await bed().serve({ m: () => 1 });
      const client = bed().client({}, { namespace: 'ns', version: '1.7' });
      for (let n = 0; n < 3; n += 1) await client.cast({}, 'm', { marker: MARKER });
      await bed().client().cast({}, 'other', { marker: MARKER });
      await until(() => bed().dropped.length === 4);
      expect(
        bed()
          .log.at('warn')
          .map(({ fields }) => fields),
      ).to.deep.equal([
        { method: 'm', namespace: 'ns', version: '1.7', topic: TOPIC },
        { method: 'other', namespace: null, version: undefined, topic: TOPIC },
      ]);
      for (const dropped of bed().dropped) {
        expect(dropped).to.include({ reason: 'undispatchable', topic: TOPIC });
        expect(dropped.messageId).to.match(/^[0-9a-f]{32}$/);
      }
      expect(bed().dropped[0]?.detail).to.contain('version 1.7').and.to.contain('method: m');
      expect(server.counts).to.include({ undispatchable: 4, run: 4 });
      expect(server.running).to.equal(0);
    });

    it('tells the caller which arguments are wrong (RPC-13)', async () => {
      await bed().serve({
        resize() {
          throw new ValidationError('resize', [{ path: 'flavour', message: 'is unknown' }]);
        },
      });
      const error = await rejectionOf(bed().client().call({}, 'resize', { flavour: 1 }));
      if (!(error instanceof ValidationError)) throw error;
      expect(error.issues).to.deep.equal([{ path: 'flavour', message: 'is unknown' }]);
    });

    it('answers whatever a method throws, once, and goes on (RPC-05, AMQP-29)', async () => {
      const hostile = {
        get message(): string {
          throw new Error('from a getter');
        },
        toString() {
          throw new Error('from toString');
        },
      };
      const thrown: readonly unknown[] = [
        new Error('plain'),
        'text',
        undefined,
        null,
        0,
        Object.create(null),
        hostile,
      ];
      const server = await bed().serve({
        now(_context: RequestContext, { n }: { n: number }) {
          throw thrown[n];
        },
        later: (_context: RequestContext, { n }: { n: number }) => Promise.reject(thrown[n]),
        fine: () => 'fine',
      });
      for (const method of ['now', 'later']) {
        for (let n = 0; n < thrown.length; n += 1) {
          expect(
            await rejectionOf(bed().client().call({}, method, { n })),
            `${method} ${String(n)}`,
          ).to.include({
            code: 'ERR_REMOTE',
          });
        }
      }
      expect(await bed().client().call({}, 'fine')).to.equal('fine');
      expect(server.running).to.equal(0);
      expect(bed().log.at('error')).to.have.length(2 * thrown.length);
    });

    it('answers for a result whose "then" does not work, and waits for thenables (AMQP-29, CORE-03)', async () => {
      const gate = deferred<string>();
      await bed().serve({
        odd: () =>
          new Proxy(
            {},
            {
              has: () => true,
              get: () => {
                throw new Error('no "then" here');
              },
            },
          ),
      });
      expect(await rejectionOf(bed().client({ timeoutMs: 1000 }).call({}, 'odd'))).to.not.include({
        code: 'ERR_TIMEOUT',
      });
      const server = await bed().serve(
        { thenable: () => ({ then: (resolve: (value: string) => void) => void gate.promise.then(resolve) }) },
        {},
        { topic: 'two' },
      );
      const call = bed().client({}, { topic: 'two' }).call({}, 'thenable');
      await until(() => server.running === 1);
      await turn();
      expect(server.running).to.equal(1);
      gate.resolve('then');
      expect(await call).to.equal('then');
    });

    it('tells the caller that its result cannot be sent, at once, and is unharmed (RPC-17)', async () => {
      let deep: unknown = 1;
      for (let n = 0; n < 300; n += 1) deep = [deep];
      const results: Record<string, unknown> = {
        function: () => {},
        nan: [Number.NaN],
        deep,
        wide: { list: new Array<number>(1_000_001).fill(1) },
        instance: {
          a: new (class Thing {
            a = 1;
          })(),
        },
        getter: {
          get a(): never {
            throw new Error('no');
          },
        },
      };
      await bed().serve({
        result: (_context: RequestContext, { of }: { of: string }) => results[of],
        later: async (_context: RequestContext, { of }: { of: string }) => Promise.resolve(results[of]),
      });
      for (const of of Object.keys(results)) {
        for (const method of ['result', 'later']) {
          const error = await rejectionOf(bed().client().call({}, method, { of }));
          expect(error, of).to.include({ code: 'ERR_SERIALIZATION', outcome: 'answered' });
          expect((error as unknown as { path: string }).path, of).to.match(/^result/);
        }
      }
      expect(await bed().client().call({}, 'result', { of: 'fine' })).to.equal(null);
    });

    it('answers ping when asked to, whatever the access policy, and an own method of that name first', async () => {
      const ping = 'oslo_rpc_server_ping';
      await bed().serve({}, { ping: true });
      await bed().serve({}, { ping: true, accessPolicy: explicitAccessPolicy }, { topic: 'two' });
      await bed().serve({ [ping]: () => 'own' }, { ping: true }, { topic: 'three' });
      await bed().serve({ m: () => 1 }, {}, { topic: 'four' });
      const client = bed().client();
      expect(await client.call({}, ping)).to.equal('pong');
      expect(await client.prepare({ topic: 'two' }).call({}, ping)).to.equal('pong');
      expect(await client.prepare({ topic: 'three' }).call({}, ping)).to.equal('own');
      expect(await rejectionOf(client.prepare({ topic: 'four' }).call({}, ping))).to.include({
        code: 'ERR_NO_SUCH_METHOD',
      });
    });

    it('exposes what its access policy allows (SEC-02)', async () => {
      const endpoint = { exposed: ['open'], open: () => 'open', shut: () => 'shut', _inner: () => 'inner' };
      await bed().serve(endpoint, { accessPolicy: explicitAccessPolicy });
      await bed().serve(endpoint, { accessPolicy: legacyAccessPolicy }, { topic: 'two' });
      const client = bed().client();
      expect(await client.call({}, 'open')).to.equal('open');
      expect(await rejectionOf(client.call({}, 'shut'))).to.include({ code: 'ERR_NO_SUCH_METHOD' });
      expect(await client.prepare({ topic: 'two' }).call({}, '_inner')).to.equal('inner');
    });
  });
}

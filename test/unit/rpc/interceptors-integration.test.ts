import type { RequestContext } from '@ebbgate/core';
import { currentContext } from '@ebbgate/core';
import type { ClientCall, ClientInterceptor, ServerInterceptor, ServerRequest } from '@ebbgate/rpc';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { rejectionOf, turn, until } from '../../support/deferred.js';
import { FORMS, SERVER, TOPIC, useBed } from '../../support/rpc-bed.js';

for (const form of FORMS) {
  describe(`interceptors of a client with messages as ${form}`, () => {
    const bed = useBed(form);

    it('stand around every call and cast, the first one outermost', async () => {
      const steps: string[] = [];
      const step =
        (name: string): ClientInterceptor =>
        async (call, next) => {
          steps.push(`${name} ${call.kind} ${call.method}`);
          const result = await next(call);
          steps.push(`${name} done`);
          return result;
        };
      await bed().serve({ m: () => steps.push('handler') });
      const client = bed().client({ interceptors: [step('a'), step('b')] });
      await client.call({}, 'm');
      expect(steps).to.deep.equal(['a call m', 'b call m', 'handler', 'b done', 'a done']);
      await client.prepare({ version: '1.0' }).cast({}, 'm');
      await until(() => steps.filter((one) => one === 'handler').length === 2);
      expect(steps.slice(5, 7)).to.deep.equal(['a cast m', 'b cast m']);
    });

    it('see what is called, and can replace the arguments, the context and the result', async () => {
      const seen: ClientCall[] = [];
      const replace: ClientInterceptor = async (call, next) => {
        seen.push(call);
        const args = { ...call.args, added: true };
        const result = await next({
          ...call,
          args,
          context: call.context.with({ trace: 't' }),
          method: 'other',
        });
        return { wrapped: result };
      };
      await bed().serve({
        other: (context: RequestContext, args: object) => ({ args, context: { ...context.values } }),
      });
      const client = bed().client({ interceptors: [replace] });
      expect(await client.call({ user: 'u' }, 'm', { a: 1 })).to.deep.equal({
        wrapped: { args: { a: 1, added: true }, context: { user: 'u', trace: 't' } },
      });
      expect(seen[0]).to.include({ kind: 'call', method: 'm' });
      expect(seen[0]?.target.topic).to.equal(TOPIC);
    });

    it('can answer by themselves or refuse, and nothing is sent', async () => {
      const server = await bed().serve({ m: () => 'from the server' });
      const refusal = new Error('not now');
      const gatekeeper: ClientInterceptor = async (call, next) => {
        if (call.method === 'cached') return 'from the cache';
        if (call.method === 'refused') throw refusal;
        return next(call);
      };
      const client = bed().client({ interceptors: [gatekeeper] });
      expect(await client.call({}, 'cached')).to.equal('from the cache');
      expect(await rejectionOf(client.call({}, 'refused'))).to.equal(refusal);
      expect(await rejectionOf(client.cast({}, 'refused'))).to.equal(refusal);
      expect(await client.call({}, 'm')).to.equal('from the server');
      await turn();
      expect(server.counts.run).to.equal(1);
    });

    it('hear of failures, of those before sending too', async () => {
      const codes: unknown[] = [];
      const watch: ClientInterceptor = async (call, next) => {
        try {
          return await next(call);
        } catch (error) {
          codes.push((error as { code?: unknown }).code);
          throw error;
        }
      };
      await bed().serve({});
      const client = bed().client({ interceptors: [watch], versionCap: '1.0' }, { version: '1.0' });
      await rejectionOf(client.call({}, 'nope'));
      await rejectionOf(client.prepare({ version: '1.1' }).call({}, 'm'));
      await rejectionOf(client.call({}, 'm', { f: () => {} }));
      expect(codes).to.deep.equal(['ERR_NO_SUCH_METHOD', 'ERR_VERSION_CAP', 'ERR_SERIALIZATION']);
    });

    it('may not hand on twice: each try needs a message of its own', async () => {
      const server = await bed().serve({ m: () => 1 });
      const twice: ClientInterceptor = async (call, next) => {
        await next(call);
        return next(call);
      };
      const error = await rejectionOf(
        bed()
          .client({ interceptors: [twice] })
          .call({}, 'm'),
      );
      expect(error.message).to.contain('called next() twice');
      expect(server.counts.run).to.equal(1);
    });
  });

  describe(`interceptors of a server with messages as ${form}`, () => {
    const bed = useBed(form);

    it('stand around every request, the first one outermost, also when no endpoint takes it', async () => {
      const steps: string[] = [];
      const seen: ServerRequest[] = [];
      const step =
        (name: string): ServerInterceptor =>
        async (request, next) => {
          seen.push(request);
          steps.push(`${name} ${request.method}`);
          try {
            return await next(request);
          } finally {
            steps.push(`${name} done`);
          }
        };
      await bed().serve({ m: () => steps.push('handler') }, { interceptors: [step('a'), step('b')] });
      const client = bed().client({}, { namespace: null, version: '1.0' });
      await client.call({ request_id: 'r' }, 'm', { a: 1 });
      expect(await rejectionOf(client.call({}, 'nope'))).to.include({ code: 'ERR_NO_SUCH_METHOD' });
      expect(steps).to.deep.equal([
        'a m',
        'b m',
        'handler',
        'b done',
        'a done',
        'a nope',
        'b nope',
        'b done',
        'a done',
      ]);
      expect(seen[0]).to.deep.include({
        method: 'm',
        args: { a: 1 },
        namespace: null,
        version: '1.0',
        topic: TOPIC,
        server: SERVER,
        isCall: true,
      });
      expect(seen[0]?.context.requestId).to.equal('r');
      expect(seen[0]?.messageId).to.match(/^[0-9a-f]{32}$/);
      expect(bed().dropped.map(({ reason }) => reason)).to.deep.equal(['undispatchable']);
    });

    it('can replace the context that the handler gets and finds', async () => {
      const widen: ServerInterceptor = async (request, next) =>
        next({ ...request, context: request.context.with({ user: 'from the interceptor' }) });
      await bed().serve(
        { who: (context: RequestContext) => [context.values['user'], currentContext()?.values['user']] },
        { interceptors: [widen] },
      );
      expect(await bed().client().call({ user: 'u' }, 'who')).to.deep.equal([
        'from the interceptor',
        'from the interceptor',
      ]);
    });

    it('can answer or refuse, for calls and casts', async () => {
      const seen: string[] = [];
      const gatekeeper: ServerInterceptor = async (request, next) => {
        seen.push(`${request.method} ${String(request.isCall)}`);
        if (request.method === 'answered') return { by: 'interceptor' };
        if (request.method === 'refused') throw new RangeError('out of hours');
        return next(request);
      };
      const server = await bed().serve({ answered: () => 'handler' }, { interceptors: [gatekeeper] });
      expect(await bed().client().call({}, 'answered')).to.deep.equal({ by: 'interceptor' });
      const error = await rejectionOf(bed().client().call({}, 'refused'));
      expect(error).to.be.instanceOf(RangeError).with.property('message', 'out of hours');
      await bed().client().cast({}, 'refused');
      await until(() => server.counts.run === 3);
      await turn();
      expect(seen).to.deep.equal(['answered true', 'refused true', 'refused false']);
      expect(server.running).to.equal(0);
    });
  });
}

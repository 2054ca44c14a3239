import {
  JsonPayloadSerializer,
  type RequestContext,
  type SerializedContext,
  type Serializer,
} from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { rejectionOf, turn } from '../../support/deferred.js';
import { FORMS, useBed } from '../../support/rpc-bed.js';

/** Tags everything that it is asked to do, with the context that it was given. */
function tagging(side: string, log: string[] = []): Serializer {
  const note = (what: string, context: SerializedContext): void => {
    log.push(`${side} ${what} ${String(context['user'])}`);
  };
  return {
    serializeEntity: (context, entity) => {
      note('packs', context);
      return { packed: entity };
    },
    deserializeEntity: (context, entity) => {
      note('unpacks', context);
      return (entity as { packed: unknown }).packed;
    },
    serializeContext: (context) => ({ sent: context['user'] }),
    deserializeContext: (context) => ({ user: `${String(context['sent'])} at ${side}` }),
  };
}

for (const form of FORMS) {
  describe(`serializers with messages as ${form}`, () => {
    const bed = useBed(form);

    it('handle each argument, the result and the context, with the context of their side', async () => {
      const log: string[] = [];
      const seen: unknown[] = [];
      await bed().serve(
        {
          m: (context: RequestContext, args: object) => {
            seen.push(args, { ...context.values });
            return 'result';
          },
        },
        { serializer: tagging('server', log) },
      );
      const client = bed().client({ serializer: tagging('client', log) });
      expect(await client.call({ user: 'u' }, 'm', { a: 1, b: [2] })).to.equal('result');
      expect(seen).to.deep.equal([{ a: 1, b: [2] }, { user: 'u at server' }]);
      expect(log).to.deep.equal([
        'client packs u',
        'client packs u',
        'server unpacks u at server',
        'server unpacks u at server',
        'server packs u at server',
        'client unpacks u',
      ]);
    });

    it('are used by prepared clients too, and for casts', async () => {
      const log: string[] = [];
      await bed().serve({ m: () => 1 }, { serializer: tagging('server', log) });
      const client = bed()
        .client({ serializer: tagging('client', log) })
        .prepare({ timeoutMs: 500 });
      await client.cast({ user: 'u' }, 'm', { a: 1 });
      await client.call({ user: 'v' }, 'm');
      expect(log).to.deep.equal([
        'client packs u',
        'server unpacks u at server',
        'server packs v at server',
        'client unpacks v',
      ]);
    });

    it('may give null and undefined', async () => {
      const nothing: Serializer = {
        ...tagging('x'),
        serializeEntity: () => undefined,
        deserializeEntity: () => null,
      };
      const seen: unknown[] = [];
      await bed().serve({ m: (_context: unknown, args: object) => seen.push(args) }, { serializer: nothing });
      expect(await bed().client().call({}, 'm', { a: 1 })).to.equal(null);
      expect(seen).to.deep.equal([{ a: null }]);
    });

    it('that fail make the call fail, at once, wherever they stand', async () => {
      const fault = new TypeError('cannot do it');
      const failing = (what: keyof Serializer): Serializer => ({
        ...tagging('f'),
        [what]: () => {
          throw fault;
        },
      });
      const seen: string[] = [];
      const endpoint = { m: () => seen.push('m') };
      for (const what of ['deserializeContext', 'deserializeEntity', 'serializeEntity'] as const) {
        await bed().serve(endpoint, { serializer: failing(what) }, { topic: what });
        const client = bed().client({ timeoutMs: 1000 }, { topic: what });
        const error = await rejectionOf(client.call({}, 'm', { a: { packed: 1 } }));
        expect(error, what).to.be.instanceOf(TypeError);
        expect(error.message).to.equal('cannot do it');
      }
      expect(seen).to.deep.equal(['m']);
      await bed().serve(endpoint);
      for (const what of ['serializeContext', 'serializeEntity', 'deserializeEntity'] as const) {
        const client = bed().client({ serializer: failing(what) });
        expect(await rejectionOf(client.call({ user: 'u' }, 'm', { a: 1 })), what).to.equal(fault);
      }
      expect(bed().pending).to.equal(0);
    });

    it('that cannot read a context keep the request from journal and handler, and the caller is told', async () => {
      const seen: string[] = [];
      const serializer: Serializer = {
        ...tagging('s'),
        deserializeContext: () => {
          throw undefined;
        },
      };
      const server = await bed().serve(
        { m: () => seen.push('ran') },
        { serializer, beforeAccept: () => void seen.push('journalled') },
      );
      expect(await rejectionOf(bed().client({ timeoutMs: 1000 }).call({}, 'm'))).to.include({
        code: 'ERR_SERIALIZATION',
      });
      await bed().client().cast({}, 'm');
      await turn();
      expect(seen).to.deep.equal([]);
      expect(server.running).to.equal(0);
    });

    it('send instances of classes with JsonPayloadSerializer, which are refused without it', async () => {
      class Disk {
        size = 20;
        name = 'vda';
        grow(): void {}
      }
      await bed().serve({ m: (_context: unknown, { disk }: { disk: object }) => ({ disk }) });
      expect(await rejectionOf(bed().client().call({}, 'm', { disk: new Disk() }))).to.include({
        code: 'ERR_SERIALIZATION',
        path: 'args.disk',
      });
      const client = bed().client({ serializer: new JsonPayloadSerializer() });
      expect(await client.call({}, 'm', { disk: new Disk() })).to.deep.equal({
        disk: { size: 20, name: 'vda' },
      });
    });
  });
}

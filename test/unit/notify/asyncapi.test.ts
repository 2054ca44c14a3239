import { ConfigurationError } from '@ebbgate/core';
import { asyncApiOf, defineEvents, eventsOf, methodsOf } from '@ebbgate/notify';
import { defineContract, method } from '@ebbgate/rpc';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { z } from 'zod';
import { at, checkAsyncApi } from '../../support/asyncapi-schema.js';

const Disk = z.object({ name: z.string(), size: z.number() }).meta({ title: 'Disk' });
const contract = defineContract({
  namespace: 'disks',
  version: '1.2',
  methods: {
    get: method({ since: '1.0', kind: 'call', args: z.object({ name: z.string() }), result: Disk }),
    ping: method({ since: '1.0', kind: 'call' }),
    wipe: method({ since: '1.2', kind: 'cast', args: z.object({ name: z.string() }) }),
  },
});
const catalogue = defineEvents({
  'disk.full': { payload: Disk, priorities: ['warn', 'error'], description: 'No room is left' },
  'disk.added': { payload: Disk },
});
const about = { title: 'Disks', version: '1.2' };

describe('the AsyncAPI document of a service', () => {
  it('is one by the schema of the specification, with an operation for each method and event', () => {
    const document = asyncApiOf({
      ...about,
      methods: methodsOf(contract, 'disks'),
      events: eventsOf(catalogue, 'notifications'),
    });
    checkAsyncApi(document);
    expect(document).to.deep.include({ asyncapi: '3.0.0', info: about });
    const operations = document['operations'] as Record<string, { readonly action: string }>;
    expect(Object.entries(operations).map(([name, { action }]) => `${action} ${name}`)).to.deep.equal([
      'receive disks.disks.get',
      'receive disks.disks.ping',
      'receive disks.disks.wipe',
      'send notifications.disk.full.warn',
      'send notifications.disk.full.error',
      'send notifications.disk.added.info',
    ]);
    const channels = document['channels'] as Record<string, { readonly address: string | null }>;
    expect(Object.values(channels).map(({ address }) => address)).to.deep.equal([
      'disks',
      null,
      'notifications.warn',
      'notifications.error',
      'notifications.info',
    ]);
  });

  it('has of a call its arguments and its result, of a cast no reply', () => {
    const document = asyncApiOf({ ...about, methods: methodsOf(contract, 'disks') });
    const request = at(document, ['components', 'messages', 'disks.disks.get', 'payload', 'properties']);
    expect(request).to.deep.equal({
      method: { const: 'get' },
      args: { $ref: '#/components/schemas/disks.disks.get.args' },
      version: { const: '1.0' },
      namespace: { const: 'disks' },
    });
    const args = at(document, ['components', 'schemas', 'disks.disks.get.args']);
    expect(args).to.deep.include({ type: 'object', required: ['name'] });
    const result = at(document, [
      'components',
      'messages',
      'disks.disks.get.result',
      'payload',
      'properties',
    ]);
    expect(result).to.deep.equal({ result: { $ref: '#/components/schemas/Disk' } });
    expect(at(document, ['operations', 'disks.disks.wipe', 'reply'])).to.equal(undefined);
  });

  it('has a schema that is used twice once, under its title', () => {
    const document = asyncApiOf({ ...about, events: eventsOf(catalogue, 'notifications') });
    expect(Object.keys(at(document, ['components', 'schemas']) as object)).to.deep.equal(['Disk']);
  });

  it('finds what a schema refers to in itself at its place in the document', () => {
    const Tree = z.object({
      name: z.string(),
      get children() {
        return z.array(Tree);
      },
    });
    const events = defineEvents({ 'tree.grown': { payload: z.object({ tree: Tree }) } });
    const document = asyncApiOf({ ...about, events: eventsOf(events, 'n') });
    checkAsyncApi(document);
    expect(JSON.stringify(document)).to.include('#/components/schemas/n.tree.grown/');
  });

  it('leaves a value open, and says so, whose library gives no JSON Schema, and what JSON cannot say', () => {
    const bare = {
      '~standard': { version: 1, vendor: 'bare', validate: (value: unknown) => ({ value }) },
    } as const;
    const events = defineEvents({
      'a.b': { payload: bare },
      'a.c': { payload: z.object({ at: z.date() }) },
    });
    const document = asyncApiOf({ ...about, events: eventsOf(events, 'n') });
    checkAsyncApi(document);
    const schemas = at(document, ['components', 'schemas']) as Record<string, unknown>;
    expect(schemas['n.a.b']).to.deep.equal({ $comment: 'bare gives no JSON Schema' });
    expect(at(schemas['n.a.c'], ['properties', 'at'])).to.deep.equal({});
  });

  it('is refused when two methods or two events have one name', () => {
    const methods = [...methodsOf(contract, 'disks'), ...methodsOf(contract, 'disks')];
    expect(() => asyncApiOf({ ...about, methods })).to.throw(ConfigurationError, 'disks.disks.get');
  });
});

import { expect } from 'chai';
import { describe, it } from 'mocha';
import {
  decodeObjects,
  encodeObjects,
  FieldUnsetError,
  Flavor,
  Instance,
  Migration,
  NovaObject,
  ObjectFormatError,
} from '@ebbgate/compute';
import { readCaptures } from './captures.js';

function wire(name: string, version: string, data: unknown, more: object = {}): object {
  return {
    'nova_object.name': name,
    'nova_object.namespace': 'nova',
    'nova_object.version': version,
    'nova_object.data': data,
    ...more,
  };
}

function decodeOne(value: unknown): NovaObject {
  const decoded = decodeObjects(value);
  if (!(decoded instanceof NovaObject)) throw new TypeError('not an object');
  return decoded as NovaObject; // of whatever kind
}

describe('versioned objects', () => {
  const captures = readCaptures();

  it('has recorded requests to read', () => {
    expect(captures).to.have.length(27);
  });

  for (const { name, args, results } of captures) {
    it(`gives back all that was sent in ${name}`, () => {
      expect(JSON.parse(JSON.stringify(encodeObjects(decodeObjects(args))))).to.deep.equal(args);
      expect(JSON.parse(JSON.stringify(encodeObjects(decodeObjects(results))))).to.deep.equal(results);
    });
  }

  it('makes objects of nested objects, and dates of times', () => {
    const build = captures.find(({ method }) => method === 'build_and_run_instance');
    const args = decodeObjects(build?.args) as { instance: unknown }; // a dictionary stays one
    const { instance } = args;
    if (!Instance.is(instance)) throw new TypeError('not an instance');
    expect(instance.get('uuid')).to.equal('a1a1a1a1-0000-4000-8000-000000000001');
    expect(instance.get('flavor').get('name')).to.equal('m1.tiny');
    expect(instance.get('launched_at')).to.deep.equal(new Date('2026-01-01T00:00:05Z'));
    expect(instance.get('updated_at')).to.equal(null);
  });

  it('tells an absent field from null', () => {
    const instance = decodeOne(wire('Instance', '2.7', { host: null }));
    expect(instance.get('host')).to.equal(null);
    expect(instance.find('node')).to.equal(undefined);
    expect(() => instance.get('node'))
      .to.throw(FieldUnsetError)
      .with.property('code', 'ERR_FIELD_UNSET');
  });

  it('keeps unknown fields, unknown objects and newer minor versions as they came', () => {
    const value = wire('Instance', '2.99', {
      uuid: 'u',
      hat: wire('Hat', '7.1', { size: 3, bought_at: '2026' }),
    });
    const instance = decodeOne(value);
    expect(instance.identity.version).to.equal('2.99');
    expect(instance.get('hat')).to.be.instanceOf(NovaObject);
    expect(encodeObjects(instance)).to.deep.equal(value);
  });

  for (const [what, value] of [
    ['another major version', wire('Instance', '3.0', {})],
    ['a version that is none', wire('Instance', 'new', {})],
    ['data that is a list', wire('Instance', '2.7', [])],
    ['data that is missing', wire('Instance', '2.7', undefined)],
    ['changes that are no names', wire('Instance', '2.7', {}, { 'nova_object.changes': [1] })],
    ['a name that is no text', { ...wire('Instance', '2.7', {}), 'nova_object.name': 7 }],
    ['a time that is none', wire('Instance', '2.7', { launched_at: 'yesterday' })],
  ] as const) {
    it(`refuses ${what}`, () => {
      expect(() => decodeObjects(value))
        .to.throw(ObjectFormatError)
        .with.property('code', 'ERR_OBJECT');
    });
  }

  it('refuses hostile depth with an error and not with the stack', () => {
    let value: unknown = 1;
    for (let depth = 0; depth < 100_000; depth += 1) value = [value];
    expect(() => decodeObjects(value)).to.throw(ObjectFormatError);
  });

  it('takes names from the wire as data, whatever they are', () => {
    const data = JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}') as object; // own members
    const flavor = decodeOne(wire('Flavor', '1.2', data));
    expect(({} as Record<string, unknown>)['polluted']).to.equal(undefined);
    expect(flavor.get('constructor')).to.equal(1);
    expect(decodeOne(wire('__proto__', '1.0', {})).identity.name).to.equal('__proto__');
    expect(JSON.stringify(encodeObjects(flavor))).to.contain('"__proto__":{"polluted":true}');
  });

  it('records what was changed, and forgets it in a pristine copy', () => {
    const migration = Migration.create({ uuid: 'm', status: 'accepted' });
    expect(migration.changes).to.deep.equal(['uuid', 'status']);
    const copy = migration.pristine().update({ status: 'queued' });
    expect(copy.changes).to.deep.equal(['status']);
    expect(migration.get('status')).to.equal('accepted');
  });

  it('copies deeply', () => {
    const instance = Instance.create({ flavor: Flavor.create({ name: 'small' }), metadata: { a: '1' } });
    const copy = instance.clone();
    copy.get('flavor').update({ name: 'large' });
    expect(instance.get('flavor').get('name')).to.equal('small');
    expect(copy.get('metadata')).to.deep.equal({ a: '1' });
    expect(copy.get('metadata')).to.not.equal(instance.get('metadata'));
  });

  it('writes times as Nova does: UTC, whole seconds', () => {
    const wired = encodeObjects(Instance.create({ created_at: new Date('2026-01-01T12:00:00.750+02:00') }));
    expect(wired)
      .to.have.property('nova_object.data')
      .that.deep.equals({ created_at: '2026-01-01T10:00:00Z' });
  });
});

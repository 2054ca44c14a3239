import { inspect } from 'node:util';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { InvalidTargetError } from '#core/errors.js';
import { Target, type TargetOptions } from '#core/target.js';
import { readVectors } from '../../support/vectors.js';

const vectors = readVectors('vectors/targets') as Record<string, unknown>;
const full: TargetOptions = {
  exchange: 'e',
  topic: 't',
  namespace: 'n',
  version: '1.0',
  server: 's',
  fanout: true,
  legacyNamespaces: ['x'],
};

describe('Target', () => {
  it('prints as Python shows it', () => {
    expect(new Target(full).toString()).to.equal(vectors['repr']);
    expect(new Target().toString()).to.equal(vectors['repr of an empty one']);
    expect(new Target({ topic: 't', fanout: false }).toString()).to.equal(vectors['repr fanout False']);
    expect(inspect({ target: new Target({ topic: 't' }) })).to.equal('{ target: <Target topic=t> }');
  });

  it('accepts its namespace and the legacy ones, by default the null namespace', () => {
    expect(new Target(full).acceptedNamespaces).to.deep.equal(vectors['accepted']);
    expect(new Target().acceptedNamespaces).to.deep.equal(vectors['accepted default']);
    expect(new Target({ namespace: 'n', legacyNamespaces: [null] }).acceptedNamespaces).to.deep.equal([
      'n',
      null,
    ]);
  });

  it('is copied with overrides', () => {
    expect(new Target(full).with({ topic: 't2', server: null }).toString()).to.equal(
      vectors['call overrides'],
    );
  });

  it('keeps legacy namespaces in a copy, where Python loses them', () => {
    expect(vectors['call keeps legacy namespaces']).to.deep.equal(['n']);
    expect(new Target(full).with({ topic: 't2' }).acceptedNamespaces).to.deep.equal(['n', 'x']);
    expect(new Target(full).with({ namespace: 'm' }).acceptedNamespaces).to.deep.equal(['m', 'x']);
    expect(new Target(full).with({ legacyNamespaces: null }).acceptedNamespaces).to.deep.equal(['n']);
  });

  it('keeps what is absent and takes away what is null', () => {
    const target = new Target(full);
    expect(target.with({}).equals(target)).to.equal(true);
    expect(target.with({ topic: undefined, fanout: undefined }).equals(target)).to.equal(true);
    const none = target.with({
      exchange: null,
      topic: null,
      namespace: null,
      version: null,
      server: null,
      fanout: null,
      legacyNamespaces: null,
    });
    expect(none.equals(new Target())).to.equal(true);
    expect(target.equals(new Target(full))).to.equal(true);
  });

  it('compares every member', () => {
    const target = new Target(full);
    const others: TargetOptions[] = [
      { exchange: 'o' },
      { topic: 'o' },
      { namespace: 'o' },
      { version: '1.1' },
      { server: 'o' },
      { fanout: false },
      { legacyNamespaces: ['x', null] },
      { legacyNamespaces: ['y'] },
    ];
    for (const other of others) expect(target.with(other).equals(target), inspect(other)).to.equal(false);
  });

  it('cannot be changed', () => {
    const target = new Target(full);
    expect(Object.isFrozen(target)).to.equal(true);
    expect(Object.isFrozen(target.acceptedNamespaces)).to.equal(true);
  });

  it('takes any text as a name (SEC-06)', () => {
    for (const name of ['__proto__', 'constructor', 'a.b#*', 'é日😀', 'x'.repeat(10_000), '', ' \n']) {
      const target = new Target({ exchange: name, topic: name, namespace: name, server: name });
      expect([target.exchange, target.topic, target.namespace, target.server]).to.deep.equal([
        name,
        name,
        name,
        name,
      ]);
      expect(target.acceptedNamespaces).to.deep.equal([name]);
    }
  });

  const wrong: [string, object, RegExp][] = [
    ['a topic that is a number', { topic: 5 }, /topic of a target is 5; it must be text/],
    ['a server that is an object', { server: {} }, /server of a target is of type object; it must be text/],
    ['fanout as text', { fanout: 'yes' }, /fanout of a target is "yes"; it must be a boolean/],
    ['a version without a minor', { version: '1' }, /version of a target is "1"; it must be "major\.minor"/],
    ['a version of letters', { version: 'a.b' }, /version of a target is "a\.b"/],
    ['a version of four parts', { version: '1.2.3.4' }, /version of a target/],
    ['legacy namespaces as text', { legacyNamespaces: 'n' }, /legacyNamespaces of a target is "n"/],
    ['a legacy namespace that is a number', { legacyNamespaces: [1] }, /must be an array of text and null/],
    ['a misspelt member', { sever: 'a' }, /A target has no sever; it has exchange, topic/],
  ];
  for (const [name, options, message] of wrong) {
    it(`refuses ${name} (CORE-09)`, () => {
      expect(() => new Target(options)).to.throw(InvalidTargetError, message);
      expect(() => new Target().with(options)).to.throw(InvalidTargetError, message);
    });
  }

  it('shows only the beginning of a long wrong value', () => {
    expect(() => new Target({ version: '9'.repeat(10_000) }))
      .to.throw(InvalidTargetError)
      .with.property('message')
      .with.length.below(300);
  });
});

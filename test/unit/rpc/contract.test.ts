import { ConfigurationError, RequestContext, Target } from '@ebbgate/core';
import { defaultAccessPolicy } from '#rpc/access-policy.js';
import { defineContract, type MaybeSchema, method } from '#rpc/contract.js';
import { implementContract } from '#rpc/contract-endpoint.js';
import { RpcDispatcher } from '#rpc/dispatcher.js';
import { collectMethods, type EndpointMethod } from '#rpc/endpoint-methods.js';
import { UnsupportedVersionError, ValidationError } from '#rpc/errors.js';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { z } from 'zod';

const contract = defineContract({
  namespace: 'compute',
  version: '1.2',
  methods: {
    get: method({
      since: '1.0',
      kind: 'call',
      args: z.object({ id: z.string(), tags: z.array(z.string()).optional() }),
      result: z.object({ id: z.string(), size: z.number() }),
    }),
    uptime: method({ since: '1.1', kind: 'call' }),
    reboot: method({ since: '1.2', kind: 'cast', args: z.object({ id: z.string() }) }),
  },
});

const implementation = {
  sizes: new Map([['a', 1]]),
  get(_context: RequestContext, { id }: { id: string }) {
    return { id, size: this.sizes.get(id) ?? -1, secret: 'not of the contract' };
  },
  uptime: () => 'long',
  reboot: async () => Promise.resolve(),
};

const endpoint = implementContract(contract, implementation);
const context = new RequestContext();
const from = (source: object, name: string): EndpointMethod => {
  const found = collectMethods(source, defaultAccessPolicy).get(name);
  return found ?? expect.fail(`no method ${name}`);
};
const thrownBy = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

describe('a contract', () => {
  it('is frozen and says what was declared', () => {
    expect(contract).to.include({ namespace: 'compute', version: '1.2' });
    expect(contract.methods.reboot).to.include({ since: '1.2', kind: 'cast' });
    expect(contract).to.be.frozen;
    expect(contract.methods).to.be.frozen;
  });

  it('refuses what cannot work, naming the method', () => {
    const define = (name: string, one: object, version = '1.2'): unknown =>
      thrownBy(() =>
        defineContract({ version, methods: { [name]: { since: '1.0', kind: 'call', ...one } as never } }),
      );
    const cases: [unknown, RegExp][] = [
      [define('get', {}, '1'), /Version must contain/],
      [define('get', { since: 'x' }), /"get" needs a version in "since"/],
      [define('get', { since: '1.3' }), /"get" is there since 1\.3, but the contract has version 1\.2/],
      [define('get', { since: '2.0' }), /"get" is there since 2\.0/],
      [define('get', { kind: 'fanout' }), /"get" has the kind fanout/],
      [define('get', { args: {} }), /The "args" of the method "get" must be a Standard Schema/],
      [define('get', { result: 'text' }), /The "result" of the method "get" must be a Standard Schema/],
      [define('get', { kind: 'cast', result: z.string() }), /"get" is a cast/],
      ...['prepare', 'canSend', 'then', 'constructor', 'target', '_private'].map(
        (name): [unknown, RegExp] => [
          define(name, {}),
          new RegExp(`"${name}" of a contract needs another name`),
        ],
      ),
      [thrownBy(() => defineContract({ version: '1.0', methods: {} })), /at least one method/],
    ];
    for (const [error, text] of cases) {
      expect(error).to.be.instanceOf(ConfigurationError).with.property('message').that.matches(text);
    }
  });
});

describe('an endpoint of a contract', () => {
  it('has the target and the methods of the contract', () => {
    expect(endpoint.target.equals(new Target({ namespace: 'compute', version: '1.2' }))).to.equal(true);
    expect([...collectMethods(endpoint, defaultAccessPolicy).keys()]).to.deep.equal([
      'get',
      'uptime',
      'reboot',
    ]);
  });

  it('must implement all of them', () => {
    const { get, uptime } = implementation;
    const partial = { get, uptime } as unknown as typeof implementation;
    expect(() => implementContract(contract, partial)).to.throw(
      TypeError,
      'The method "reboot" of the contract is not implemented',
    );
  });

  it('runs a method on its own object and sends what the result schema lets through, without a promise', () => {
    expect(from(endpoint, 'get')(context, { id: 'a' })).to.deep.equal({ id: 'a', size: 1 });
    expect(from(endpoint, 'uptime')(context, {})).to.equal('long');
  });

  it('refuses wrong and missing arguments, naming method, path and fault but no value (RPC-13)', () => {
    const run = from(endpoint, 'get');
    const wrong = thrownBy(() => run(context, { id: 'a', tags: ['x', 4711] }));
    expect(wrong).to.be.instanceOf(ValidationError).and.include({ method: 'get', code: 'ERR_VALIDATION' });
    expect(wrong).to.have.nested.property('issues[0].path', 'tags[1]');
    expect(wrong)
      .to.have.property('message')
      .that.matches(/^The arguments of get are not valid: tags\[1\]: .*expected string/);
    expect(JSON.stringify(wrong)).not.to.include('4711');
    expect(thrownBy(() => run(context, {}))).to.have.nested.property('issues[0].path', 'id');
  });

  it('refuses unknown arguments, those of methods without any too (RPC-13)', () => {
    expect(thrownBy(() => from(endpoint, 'get')(context, { id: 'a', colour: 'red' })))
      .to.be.instanceOf(ValidationError)
      .and.have.deep.property('issues', [{ path: 'colour', message: 'unknown argument' }]);
    expect(thrownBy(() => from(endpoint, 'uptime')(context, { id: 'a' })))
      .to.be.instanceOf(ValidationError)
      .and.include({ method: 'uptime' });
  });

  it('ignores unknown arguments when it is lenient, or passes them on when the schema does (RPC-13)', () => {
    const lenient = implementContract(contract, implementation, { lenient: true });
    expect(from(lenient, 'get')(context, { id: 'a', colour: 'red' })).to.deep.equal({ id: 'a', size: 1 });
    expect(from(lenient, 'uptime')(context, { id: 'a' })).to.equal('long');
    const loose = defineContract({
      version: '1.0',
      methods: { echo: method({ since: '1.0', kind: 'call', args: z.looseObject({}) }) },
    });
    const echo = implementContract(loose, { echo: (_context, args) => args });
    expect(from(echo, 'echo')(context, { any: 1 })).to.deep.equal({ any: 1 });
  });

  it('gives methods what the schema makes of the arguments', () => {
    const dates = defineContract({
      version: '1.0',
      methods: {
        year: method({
          since: '1.0',
          kind: 'call',
          args: z.object({ at: z.string().transform((text) => new Date(text)), by: z.number().default(1) }),
          result: z.number(),
        }),
      },
    });
    const years = implementContract(dates, { year: (_context, { at, by }) => at.getUTCFullYear() + by });
    expect(from(years, 'year')(context, { at: '2026-05-01' })).to.equal(2027);
  });

  it('refuses a wrong result, for the caller and without the value', async () => {
    const wrong = {
      ...implementation,
      get: (): { id: string; size: number } => ({ id: 'a', size: 'hunter2' as unknown as number }),
    };
    const late = { ...implementation, get: async () => Promise.resolve(wrong.get()) };
    const sync = thrownBy(() => from(implementContract(contract, wrong), 'get')(context, { id: 'a' }));
    const async = await Promise.resolve(
      from(implementContract(contract, late), 'get')(context, { id: 'a' }),
    ).catch((error: unknown) => error);
    for (const error of [sync, async]) {
      expect(error)
        .to.be.instanceOf(ValidationError)
        .with.property('message')
        .that.matches(/^The result of get is not valid: result\.size: /);
      expect(JSON.stringify(error)).not.to.include('hunter2');
    }
  });

  it('checks with asynchronous schemas too', async () => {
    const slow = z.object({
      id: z.string().refine(async (id) => Promise.resolve(id !== 'bad'), 'not allowed'),
    });
    const checked = defineContract({
      version: '1.0',
      methods: { get: method({ since: '1.0', kind: 'call', args: slow, result: slow }) },
    });
    const run = from(
      implementContract(checked, { get: (_context, { id }) => ({ id: id === 'turn' ? 'bad' : id }) }),
      'get',
    );
    expect(await run(context, { id: 'a' })).to.deep.equal({ id: 'a' });
    for (const id of ['bad', 'turn']) {
      const error = await Promise.resolve(run(context, { id })).catch((caught: unknown) => caught);
      expect(error).to.be.instanceOf(ValidationError).with.property('message').that.includes('not allowed');
    }
    expect(
      await Promise.resolve(run(context, { id: 'a', more: 1 })).catch((caught: unknown) => caught),
    ).to.be.instanceOf(ValidationError);
  });

  it('hides the value where a schema repeats it (RPC-08)', () => {
    const telling = (message: (value: unknown) => string): NonNullable<MaybeSchema> => ({
      '~standard': {
        version: 1,
        vendor: 'telling',
        validate: (value) => ({
          issues: [{ message: message((value as { id: unknown }).id), path: [{ key: 'id' }] }],
        }),
      },
    });
    const textFor = (id: unknown, message: (value: unknown) => string): unknown => {
      const one = defineContract({
        version: '1.0',
        methods: { set: method({ since: '1.0', kind: 'call', args: telling(message) }) },
      });
      const error = thrownBy(() => from(implementContract(one, { set: () => 1 }), 'set')(context, { id }));
      return error instanceof ValidationError ? error.issues[0]?.message : error;
    };
    expect(textFor('hunter2', (id) => `Expected number but received "${String(id)}"`)).to.equal(
      'Expected number but received …',
    );
    expect(textFor('hunter2', (id) => `must be a number (was ${String(id)})`)).to.equal(
      'must be a number (was …)',
    );
    expect(textFor(1, (id) => `must be at least 10 (was ${String(id)})`)).to.equal(
      'must be at least 10 (was …)',
    );
    expect(textFor({}, () => 'x'.repeat(1e6))).to.have.lengthOf(300);
  });

  it('serves a method only to requests of the version in which it appeared or of a later one', () => {
    const dispatcher = new RpcDispatcher([endpoint]);
    const find = (name: string, version: string): unknown =>
      dispatcher.find({ method: name, namespace: 'compute', version });
    expect(find('reboot', '1.2')).to.be.a('function');
    expect(find('get', '1.0')).to.be.a('function');
    expect(() => find('reboot', '1.1'))
      .to.throw(UnsupportedVersionError)
      .that.includes({ version: '1.1', method: 'reboot' });
  });
});

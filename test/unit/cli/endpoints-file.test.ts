import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTransport, Target } from '@ebbgate/core';
import { TaskRegistry } from '@ebbgate/service';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { cli } from './cli-run.js';
import { loadEndpoints } from '#cli/endpoints-file.js';

const none = { namespace: undefined, version: undefined };
const context = {
  transport: createTransport('memory://endpoints-file/'),
  topic: 't',
  server: 's',
  tasks: new TaskRegistry(),
  listening: Promise.resolve(),
};

describe('endpoints files', () => {
  let folder: string;
  let files = 0;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ebbgate-endpoints-'));
  });
  after(async () => {
    await context.transport.close();
    await rm(folder, { recursive: true });
  });

  async function load(
    source: string,
    defaults: Parameters<typeof loadEndpoints>[3] = none,
  ): Promise<object[]> {
    const file = `m${String((files += 1))}.mjs`;
    await writeFile(join(folder, file), source);
    return loadEndpoints(file, folder, context, defaults);
  }

  async function failure(source: string): Promise<Error & { code?: string }> {
    return load(source).then(
      () => expect.fail('it was taken'),
      (error: unknown) => error as Error,
    );
  }

  it('makes one endpoint of all exported functions, and one of each object with methods', async () => {
    const endpoints = await load(`
      export function add() {}
      export const sub = async () => {};
      export const admin = { restart() {} };
      export const LIMIT = 5;
      export const settings = { a: 1 };
      export class Helper { help() {} }
    `);
    expect(endpoints.map((endpoint) => Object.keys(endpoint).sort())).to.deep.equal([
      ['add', 'sub'],
      ['restart'],
    ]);
  });

  it('takes a default export alone: an endpoint, a list, or a function that makes them', async () => {
    expect(await load('export default { a() {} }; export function b() {}')).to.have.length(1);
    expect(await load('export default [{ a() {} }, new (class { b() {} })()]')).to.have.length(2);
    const [made] = await load('export default async (given) => ({ names: () => Object.keys(given).sort() })');
    expect((made as { names: () => string[] }).names()).to.deep.equal([
      'listening',
      'server',
      'tasks',
      'topic',
      'transport',
    ]);
  });

  it('gives endpoints without a target the default one, and makes a Target of a plain object', async () => {
    const endpoints = await load(
      `export const target = { version: '1.2', namespace: 'own', legacyNamespaces: [null] };
       export function add() {}
       export const admin = { restart() {} };`,
      { namespace: 'given', version: '3.1' },
    );
    const [own, given] = endpoints.map((endpoint) => (endpoint as { target: Target }).target);
    expect(own).to.be.instanceOf(Target);
    expect(own?.equals(new Target({ version: '1.2', namespace: 'own', legacyNamespaces: [null] }))).to.be
      .true;
    expect(given?.equals(new Target({ version: '3.1', namespace: 'given' }))).to.be.true;
  });

  it('leaves private members of instances alone when it sets the target', async () => {
    const [endpoint] = await load('class E { #n = 7; read() { return this.#n } } export default new E()', {
      namespace: 'n',
      version: undefined,
    });
    expect((endpoint as { read: () => number }).read()).to.equal(7);
    expect((endpoint as { target: Target }).target.namespace).to.equal('n');
  });

  const faults: readonly [string, string, string][] = [
    ['no endpoint at all', 'export const a = 1', 'exports no endpoint'],
    ['an empty list', 'export default []', 'exports no endpoint'],
    ['an object without methods', 'export default { a: 1 }', 'Endpoint 1'],
    ['a class', 'export default class Adder { add() {} }', 'export default new Adder()'],
    ['a class in a list', 'export default [class Adder { add() {} }]', 'the class Adder'],
    ['text for an endpoint', 'export default ["x"]', 'a string'],
    ['null', 'export default null', 'null'],
    ['a factory that throws', 'export default () => { throw new Error("no database") }', 'default export of'],
    ['a module that throws', 'throw new Error("boom")', 'cannot be loaded'],
    ['a syntax error', 'export default {', 'cannot be loaded'],
    ['a wrong target', 'export default { target: "1.2", a() {} }', 'a target that is a string'],
    [
      'a frozen plain target',
      'export default Object.freeze({ target: { version: "1.2" }, a() {} })',
      'frozen',
    ],
  ];
  for (const [name, source, text] of faults) {
    it(`refuses ${name} and says what is wrong`, async () => {
      const error = await failure(source);
      expect(error.message).to.include(text);
      expect(error.code).to.equal('ERR_USAGE');
    });
  }

  it('says why a module cannot be loaded, and refuses a target with a bad member', async () => {
    expect((await failure('throw new Error("boom")')).cause).to.have.property('message', 'boom');
    expect((await failure('export default { target: { version: "x" }, a() {} }')).code).to.equal(
      'ERR_INVALID_TARGET',
    );
    const error = await loadEndpoints('absent.mjs', folder, context, none).catch(
      (thrown: unknown) => thrown as Error,
    );
    expect(error).to.have.property('message', 'absent.mjs cannot be loaded');
    expect(error).to.have.nested.property('cause.message', 'there is no such file');
  });

  it('is told of on one line, whatever it throws (exit code 2 or 1)', async () => {
    const refuse = '{ getPrototypeOf() { throw 1 }, get() { throw 1 } }';
    const sources: readonly [string, number][] = [
      ['throw Object.create(null)', 2],
      ['const e = new Error("x"); e.message = Symbol("s"); throw e', 2],
      [`export default () => { throw new Proxy({}, ${refuse}) }`, 2],
      [`export default { a() {}, get target() { throw new Proxy(new Error("x"), ${refuse}) } }`, 1],
    ];
    for (const [source, code] of sources) {
      const file = join(folder, `m${String((files += 1))}.mjs`);
      await writeFile(file, source);
      const ran = await cli(['call', '--topic', 't', '--endpoints', file, 'm']);
      expect(ran, source).to.include({ code, stdout: '' });
      expect(ran.stderr, source).to.match(/^ebbgate call: [^\n]+\n$/);
    }
  });
});

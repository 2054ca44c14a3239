import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import ts from 'typescript';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

/** Begins every snippet: a contract, and what both sides need. */
const HEAD = `
import type { RequestContext } from '@ebbgate/core';
import type { RpcClient } from '#rpc/client.js';
import { defineContract, method } from '#rpc/contract.js';
import { contractClient } from '#rpc/contract-client.js';
import { implementContract } from '#rpc/contract-endpoint.js';
import { z } from 'zod';
const contract = defineContract({
  version: '1.2',
  methods: {
    get: method({ since: '1.0', kind: 'call', args: z.object({ id: z.string() }), result: z.object({ id: z.string(), size: z.number() }) }),
    ping: method({ since: '1.0', kind: 'call' }),
    reboot: method({ since: '1.2', kind: 'cast', args: z.object({ id: z.string() }) }),
  },
});
declare const rpc: RpcClient;
declare const context: RequestContext;
const compute = contractClient(rpc, contract);
const get = (_context: RequestContext, { id }: { id: string }) => ({ id, size: 1 });
const ping = () => 'pong';
const reboot = async (_context: RequestContext, _args: { id: string }) => {};
export {};
`;

/** A title, a snippet, and what the compiler must say of it; nothing where it must be content. */
const SNIPPETS: readonly [title: string, code: string, complaint: RegExp | undefined][] = [
  [
    'accepts a right client',
    'export const size: number = (await compute.prepare({ server: "h" }).get(context, { id: "a" })).size;',
    undefined,
  ],
  [
    'accepts calls without arguments',
    'await compute.ping(context); await compute.ping(context, undefined, { detached: true });',
    undefined,
  ],
  [
    'accepts a right cast',
    'const sent: Promise<void> = compute.reboot(context, { id: "a" }); await sent;',
    undefined,
  ],
  ['accepts a right implementation', 'implementContract(contract, { get, ping, reboot });', undefined],
  [
    'accepts a class with more methods',
    'class C { get = async (c: RequestContext, a: { id: string }) => get(c, a); ping() { return 1; } reboot() { return 2; } more() {} } implementContract(contract, new C());',
    undefined,
  ],
  [
    'infers the parameters of an implementation',
    'implementContract(contract, { get: (c, { id }) => ({ id, size: c.remainingMs }), ping, reboot });',
    undefined,
  ],
  ['refuses a misspelt method', 'await compute.gte(context, { id: "a" });', /Property 'gte' does not exist/],
  [
    'refuses a wrong argument',
    'await compute.get(context, { id: 5 });',
    /Type 'number' is not assignable to type 'string'/,
  ],
  ['refuses a missing argument', 'await compute.get(context, {});', /Property 'id' is missing/],
  [
    'refuses no arguments where some are needed',
    'await compute.get(context);',
    /Expected 2-3 arguments, but got 1/,
  ],
  [
    'refuses an unknown argument',
    'await compute.get(context, { id: "a", colour: "red" });',
    /'colour' does not exist/,
  ],
  [
    'refuses arguments where there are none',
    'await compute.ping(context, { id: "a" });',
    /not assignable to parameter of type 'undefined'/,
  ],
  [
    'refuses a wrong use of a result',
    'export const size: string = (await compute.get(context, { id: "a" })).size;',
    /Type 'number' is not assignable to type 'string'/,
  ],
  [
    'refuses a member that the result has not',
    '(await compute.get(context, { id: "a" })).colour;',
    /Property 'colour' does not exist/,
  ],
  [
    'refuses the result of a cast',
    'export const done: string = await compute.reboot(context, { id: "a" });',
    /Type 'void' is not assignable to type 'string'/,
  ],
  [
    'refuses to prepare what the contract settles',
    'compute.prepare({ version: "1.0" });',
    /'version' does not exist/,
  ],
  ['refuses to ask for an unknown method', 'compute.canSend("gte");', /"gte".*is not assignable/],
  [
    'refuses a missing implementation',
    'implementContract(contract, { get, ping });',
    /Property 'reboot' is missing/,
  ],
  [
    'refuses a misspelt implementation',
    'implementContract(contract, { get, ping, reboot, rebot: reboot });',
    /'rebot' does not exist|may only specify known properties/,
  ],
  [
    'refuses an implementation with a wrong argument',
    'implementContract(contract, { get: (_c: RequestContext, { id }: { id: number }) => ({ id: "a", size: id }), ping, reboot });',
    /'number'/,
  ],
  [
    'refuses an implementation with a wrong result',
    'implementContract(contract, { get: () => ({ id: "a", size: "big" }), ping, reboot });',
    /Type 'string' is not assignable to type 'number'/,
  ],
  [
    'refuses an implementation with a wrong promise',
    'implementContract(contract, { get: async () => ({ id: "a" }), ping, reboot });',
    /Property 'size' is missing/,
  ],
  [
    'refuses a cast with a result',
    "method({ since: '1.0', kind: 'cast', result: z.string() });",
    /No overload matches/,
  ],
  ['refuses an unknown kind', "method({ since: '1.0', kind: 'fanout' });", /No overload matches/],
  [
    'refuses what is no schema',
    "method({ since: '1.0', kind: 'call', args: { id: String } });",
    /No overload matches/,
  ],
];

const fileOf = (index: number): string => `${root}build/contract-types/snippet-${String(index)}.ts`;

/** What the compiler says of each snippet. */
function compile(): readonly string[] {
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2023.d.ts'],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: ['node'],
    typeRoots: [`${root}node_modules/@types`],
  };
  const texts = new Map(SNIPPETS.map(([, code], index) => [fileOf(index), HEAD + code]));
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (name) => texts.has(name) || fileExists.call(host, name);
  host.readFile = (name) => texts.get(name) ?? readFile.call(host, name);
  host.getSourceFile = (name, language, ...rest) => {
    const text = texts.get(name);
    return text === undefined
      ? getSourceFile.call(host, name, language, ...rest)
      : ts.createSourceFile(name, text, language);
  };
  const program = ts.createProgram([...texts.keys()], options, host);
  return [...texts.keys()].map((name) => {
    const source = program.getSourceFile(name);
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    return found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')).join('\n');
  });
}

describe('the compiler, for users of a contract', () => {
  let complaints: readonly string[] = [];

  before(function () {
    this.timeout(60_000); // it reads the types of node, zod and ours
    complaints = compile();
  });

  for (const [index, [title, , complaint]] of SNIPPETS.entries()) {
    it(title, () => {
      if (complaint) expect(complaints[index]).to.match(complaint);
      else expect(complaints[index]).to.equal('');
    });
  }
});

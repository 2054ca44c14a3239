import { ExpectedException, legacyAccessPolicy, type RpcServer } from '@ebbgate/rpc';
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { rejectionOf, turn, until } from '../../support/deferred.js';
import { Prototypes } from '../../support/prototypes.js';
import { publish, rawMessage } from '../../support/requests.js';
import { FORMS, MARKER, useBed } from '../../support/rpc-bed.js';

const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'then',
  'toJSON',
  'length',
  '',
  ' ',
  '\u0000',
  '\ud800',
  '#',
  '*',
  'a.b',
  '../x',
  '🙂',
  'target',
  'exposed',
  'x'.repeat(255),
];

for (const form of FORMS) {
  describe(`hostile names with messages as ${form}`, () => {
    const bed = useBed(form);
    const before = new Prototypes();

    it('of methods reach nothing but methods (SEC-02, SEC-06)', async () => {
      const server = await bed().serve({ m: () => 1 }, { accessPolicy: legacyAccessPolicy });
      for (const name of NAMES) {
        expect(await rejectionOf(bed().client().call({}, name)), name).to.include({
          code: 'ERR_NO_SUCH_METHOD',
        });
      }
      expect(server.running).to.equal(0);
      expect(before.changes()).to.deep.equal([]);
    });

    it('can be those of methods that exist', async () => {
      const names = ['toString', 'valueOf', 'then', '🙂', 'a.b', 'hasOwnProperty'];
      await bed().serve(Object.fromEntries(names.map((name) => [name, () => `own ${name}`])));
      for (const name of names) expect(await bed().client().call({}, name)).to.equal(`own ${name}`);
    });

    it('of arguments and members of the context are inert own members (SEC-06)', async () => {
      const odd = Object.fromEntries(NAMES.map((name) => [name, { polluted: name }]));
      const seen: { keys: string[]; polluted: unknown; context: string[]; proto: unknown }[] = [];
      await bed().serve({
        m: (context: { values: Record<string, unknown> }, args: Record<string, unknown>) => {
          const { polluted } = args;
          seen.push({
            keys: Object.keys(args),
            polluted,
            context: Object.keys(context.values),
            proto: context.values['polluted'],
          });
          return args;
        },
      });
      const result = (await bed().client().call(odd, 'm', odd)) as Record<string, unknown>;
      expect(Object.keys(result)).to.have.members(NAMES);
      expect(Object.getOwnPropertyDescriptor(result, '__proto__')?.value).to.deep.equal({
        polluted: '__proto__',
      });
      expect(seen[0]?.keys).to.have.members(NAMES);
      expect(seen[0]?.context).to.have.members(NAMES);
      expect([seen[0]?.polluted, seen[0]?.proto]).to.deep.equal([undefined, undefined]);
      expect(before.changes()).to.deep.equal([]);
      expect(({} as Record<string, unknown>)['polluted']).to.equal(undefined);
    });

    it('of topics, servers, exchanges and namespaces are names like any other', async () => {
      for (const name of NAMES.filter((one) => one !== '')) {
        const target = { exchange: name, topic: name, server: name };
        const server = await bed().serve({ m: () => name }, {}, target);
        const client = bed().client({}, target);
        expect(await client.call({}, 'm')).to.equal(name);
        expect(await rejectionOf(client.prepare({ namespace: name }).call({}, 'm'))).to.include({
          code: 'ERR_UNSUPPORTED_VERSION',
        });
        expect(await rejectionOf(client.prepare({ topic: `${name}x` }).call({}, 'm'))).to.include({
          code: 'ERR_UNDELIVERABLE',
        });
        await server.stop();
      }
      expect(before.changes()).to.deep.equal([]);
    });

    it('of error types are looked up in what was registered alone (SEC-01)', async () => {
      let name = '';
      await bed().serve({
        fail: () => {
          throw Object.assign(new Error(name), { name, code: name });
        },
      });
      for (name of [...NAMES, 'Function', 'Map', 'eval', 'process', 'fs']) {
        const error = await rejectionOf(bed().client().call({}, 'fail'));
        expect(error).to.include({ code: 'ERR_REMOTE' });
      }
      expect(before.changes()).to.deep.equal([]);
    });
  });
}

describe('hostile bytes', () => {
  const bed = useBed('bytes');

  /** The server took and refused them all, and still works. */
  async function isUnharmed(server: RpcServer, refused: number): Promise<void> {
    await until(() => server.counts.malformed >= refused);
    expect(await bed().client().call({}, 'm')).to.equal('fine');
    await turn();
    expect(server.counts.malformed).to.equal(refused);
    expect(server.running).to.equal(0);
    expect(bed().errors).to.deep.equal([]);
  }

  it('of all kinds are rejected once each, told of without their content, and harm nobody (AMQP-29, AMQP-30)', async () => {
    const server = await bed().serve({ m: () => 'fine' });
    const before = new Prototypes();
    let sent = 0;
    const garbage = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
      fc.json().map((text) => Buffer.from(text)),
      fc
        .jsonValue()
        .map((value) => Buffer.from(JSON.stringify({ 'oslo.version': '2.0', 'oslo.message': value }))),
      fc.json().map((text) => Buffer.from(JSON.stringify({ 'oslo.version': '2.0', 'oslo.message': text }))),
      fc
        .record({ method: fc.jsonValue(), args: fc.jsonValue(), _msg_id: fc.jsonValue() })
        .filter(({ method }) => typeof method !== 'string')
        .map((inner) => Buffer.from(JSON.stringify(inner))),
    );
    await fc.assert(
      fc.asyncProperty(garbage, async (bytes) => {
        sent += 1;
        await publish(bed().transport, rawMessage(bytes));
      }),
      { numRuns: 1500 },
    );
    await isUnharmed(server, sent);
    expect(bed().dropped).to.have.length(sent);
    expect(bed().log.at('warn')).to.have.length(sent);
    expect(before.changes()).to.deep.equal([]);
  });

  it('that are bombs are rejected: deep ones, and ones that promise more than they hold', async () => {
    const server = await bed().serve({ m: () => 'fine' });
    const deep = (depth: number, open = '[', close = ']'): string => open.repeat(depth) + close.repeat(depth);
    const inner = (value: string): string => `{"method":"m","args":{"a":${value}}}`;
    const enveloped = (text: string): string =>
      JSON.stringify({ 'oslo.version': '2.0', 'oslo.message': text });
    const bombs = [
      deep(100_000),
      '['.repeat(1_000_000),
      '{"a":'.repeat(200_000),
      deep(100_000, '{"a":', '}').replace(':}', ':1}'),
      inner(deep(5000)),
      enveloped(inner(deep(5000))),
      enveloped(inner('9'.repeat(5000))),
      enveloped('"'.repeat(100_000)),
      `{"method":"${'x'.repeat(1_000_000)}`,
      `${' '.repeat(1_000_000)}{`,
    ];
    for (const bomb of bombs) await publish(bed().transport, rawMessage(bomb));
    await isUnharmed(server, bombs.length);
  });

  it('that are requests with odd members run with those inert, or are refused to their caller alone (SEC-06)', async () => {
    const seen: Record<string, unknown>[] = [];
    const server = await bed().serve({
      m: (_context: unknown, args: Record<string, unknown>) => {
        seen.push(args);
        return 'fine';
      },
    });
    const before = new Prototypes();
    const bodies = [
      '{"method":"m","args":{"__proto__":{"polluted":1}},"__proto__":{"method":"x"},"constructor":{"prototype":{"polluted":1}}}',
      '{"method":"m","args":{"a":1,"a":2}}',
      '{"method":"m","_context___proto__":{"polluted":1},"_context_":{"x":1}}',
      '{"method":"m","_timeout":1e308}',
      '{"method":"m","_msg_id":"a","_timeout":0.000001}',
      '{"method":"m","_reply_q":"nowhere"}',
      '{"__proto__":{"method":"m"},"method":"m"}',
    ];
    for (const body of bodies) await publish(bed().transport, rawMessage(body));
    await until(() => seen.length === bodies.length);
    expect(Object.keys(seen[0] ?? {})).to.deep.equal(['__proto__']);
    expect(seen[0]?.['polluted']).to.equal(undefined);
    expect(seen[1]).to.deep.equal({ a: 2 });
    await publish(bed().transport, rawMessage('{"__proto__":{"method":"m"}}'));
    await isUnharmed(server, 1);
    expect(before.changes()).to.deep.equal([]);
  });

  it('that ask for replies nowhere cost no more than a line, and a monitor there ends (AMQP-25)', async () => {
    const server = await bed().serve({
      m: () => 'fine',
      slow: () => new Promise((resolve) => setTimeout(resolve, 40)),
    });
    for (const method of ['m', 'slow', 'nope']) {
      for (const replyTo of ['nowhere', '', '__proto__']) {
        const inner = { method, args: { marker: MARKER }, _msg_id: 'x', _reply_q: replyTo, _timeout: 0.02 };
        await publish(bed().transport, rawMessage(JSON.stringify(inner)));
      }
    }
    await until(() => server.counts.run === 9 && server.running === 0);
    await isUnharmed(server, 0);
  });

  it('with ids and addresses beyond all measure are refused, and nothing of them is kept (SEC-06, AMQP-01)', async () => {
    const server = await bed().serve({ m: () => 'fine' });
    const long = 'x'.repeat(1025);
    const fields = [{ _unique_id: long }, { _msg_id: long, _reply_q: 'q' }, { _msg_id: 'i', _reply_q: long }];
    for (const each of fields) {
      await publish(bed().transport, rawMessage(JSON.stringify({ method: 'm', args: {}, ...each })));
    }
    await isUnharmed(server, fields.length);
    expect(bed().log.ordinaryText()).to.not.contain(long);
  });

  it('answers a call whatever its method throws, also what cannot be looked at (RPC-05, RPC-17)', async () => {
    const { proxy, revoke } = Proxy.revocable(new Error('x'), {});
    revoke();
    const refuse = (): never => {
      throw new Error('a trap');
    };
    const odd: readonly unknown[] = [
      proxy,
      new Proxy({}, { getPrototypeOf: refuse }),
      new Proxy(new Error('x'), { get: refuse }),
      new ExpectedException(new Proxy(new Error('x'), { get: refuse })),
      Object.create(null),
      Symbol('s'),
    ];
    const server = await bed().serve({
      atOnce: (_context: unknown, { index }: { index: number }) => {
        throw odd[index];
      },
      later: async (_context: unknown, { index }: { index: number }) => {
        await turn();
        throw odd[index];
      },
    });
    for (const method of ['atOnce', 'later']) {
      for (const index of odd.keys()) {
        const error = await rejectionOf(bed().client().call({}, method, { index }));
        expect(error, `${method} ${String(index)}`).to.have.property('code', 'ERR_REMOTE');
      }
    }
    await until(() => server.running === 0);
    expect(bed().errors).to.deep.equal([]);
  });

  it('shows no more of a request id in the log than a line can bear (RPC-08)', async () => {
    await bed().serve({
      m: () => {
        throw new Error('no');
      },
    });
    await rejectionOf(
      bed()
        .client()
        .call({ request_id: 'r'.repeat(5000) }, 'm'),
    );
    expect(bed().log.at('error')[0]?.fields).to.have.property('requestId').with.length(200);
  });
});

describe('a flood of hostile requests', () => {
  const bed = useBed('bytes');

  it('does not keep good ones from running (AMQP-29)', async () => {
    const server = await bed().serve(
      { echo: (_context: unknown, { n }: { n: number }) => n },
      { slots: 2, prefetch: 2 },
    );
    const calls: Promise<unknown>[] = [];
    for (let n = 0; n < 200; n += 1) {
      await publish(bed().transport, rawMessage('garbage'));
      await publish(bed().transport, rawMessage('{"method":"nope"}'));
      calls.push(bed().client().call({}, 'echo', { n }));
    }
    expect(await Promise.all(calls)).to.deep.equal(Array.from({ length: 200 }, (_, n) => n));
    await until(() => server.counts.malformed === 200);
    expect(server.counts.undispatchable).to.equal(200);
  });
});

import { SerializationError } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { deferred, rejectionOf, turn, until } from '../../support/deferred.js';
import { FORMS, MARKER, useBed } from '../../support/rpc-bed.js';

/** What a handler may return, and what its caller gets: `call_falsy_results` of the captures, and what JavaScript adds. */
const RESULTS: readonly (readonly [string, unknown, unknown])[] = [
  ['0', 0, 0],
  ['false', false, false],
  ['the empty text', '', ''],
  ['an empty array', [], []],
  ['an empty object', {}, {}],
  ['0.0', 0.0, 0],
  ['the text null', 'null', 'null'],
  ['[null]', [null], [null]],
  ['null', null, null],
  ['undefined', undefined, null],
  ['-0', -0, 0],
  ['0n', 0n, 0],
  ['a large integer', 2n ** 70n, 2n ** 70n],
];

for (const form of FORMS) {
  describe(`RpcClient.call() with messages as ${form}`, () => {
    const bed = useBed(form);

    it('resolves with the result, and passes arguments by name, not by position (RPC-13)', async () => {
      const seen: unknown[] = [];
      await bed().serve({
        rename(_context: unknown, { to, from }: { to: string; from: string }) {
          seen.push({ to, from });
          return { renamed: [from, to], marker: MARKER };
        },
      });
      const result = await bed().client().call({}, 'rename', { from: 'a', to: 'b' });
      expect(result).to.deep.equal({ renamed: ['a', 'b'], marker: MARKER });
      await bed().client().call({}, 'rename', { to: 'd', from: 'c' });
      expect(seen).to.deep.equal([
        { to: 'b', from: 'a' },
        { to: 'd', from: 'c' },
      ]);
    });

    for (const [name, returned, received] of RESULTS) {
      it(`resolves with ${name}, also from an async method (RPC-05)`, async () => {
        await bed().serve({ now: () => returned, later: async () => Promise.resolve(returned) });
        expect(await bed().client().call({}, 'now')).to.deep.equal(received);
        expect(await bed().client().call({}, 'later')).to.deep.equal(received);
      });
    }

    it('shares no object between caller and handler (CORE-06)', async () => {
      const kept: { args?: { list: number[] }; result: { list: number[] } } = { result: { list: [1] } };
      await bed().serve({
        m(_context: unknown, args: { list: number[] }) {
          kept.args = args;
          args.list.push(99);
          return kept.result;
        },
      });
      const args = { list: [1, 2] };
      const result = (await bed().client().call({}, 'm', args)) as { list: number[] };
      expect(args.list).to.deep.equal([1, 2]);
      result.list.push(5);
      expect(kept.result.list).to.deep.equal([1]);
      args.list.push(7);
      expect(kept.args?.list).to.deep.equal([1, 2, 99]);
    });

    it('times out when nobody answers, and drops the late reply with a debug line (RPC-07)', async () => {
      const gate = deferred<string>();
      await bed().serve({ slow: () => gate.promise });
      const error = await rejectionOf(bed().client({ timeoutMs: 30 }).call({}, 'slow'));
      expect(error).to.include({ code: 'ERR_TIMEOUT', outcome: 'unknown', name: 'MessagingTimeoutError' });
      expect(error.message).to.match(/^Timed out waiting for a reply to message id [0-9a-f]{32}$/);
      expect(bed().pending).to.equal(0);
      gate.resolve(MARKER);
      await until(() =>
        bed()
          .log.at('debug')
          .some(({ message }) => message.startsWith('Late reply dropped')),
      );
      expect(bed().log.at('warn')).to.deep.equal([]);
    });

    it('accepts a time-out with a fraction (RPC-02)', async () => {
      const gate = deferred();
      await bed().serve({ m: () => 'ok', never: () => gate.promise });
      expect(await bed().client({ timeoutMs: 750.25 }).call({}, 'm')).to.equal('ok');
      const short = bed().client({ timeoutMs: 0.5 });
      expect(await rejectionOf(short.call({}, 'never'))).to.include({ code: 'ERR_TIMEOUT' });
      gate.resolve();
    });

    it('refuses before anything is sent what cannot be sent, naming where it is (CORE-06)', async () => {
      const seen: string[] = [];
      await bed().serve({ m: () => seen.push('m') });
      const client = bed().client();
      const bad: readonly (readonly [unknown, string])[] = [
        [{ a: { b: [1, () => {}] } }, 'args.a.b[1]'],
        [{ n: Number.NaN }, 'args.n'],
        [{ d: new Date(Number.NaN) }, 'args.d'],
        [[1, 2], 'args'],
        [null, 'args'],
        ['text', 'args'],
        [new Date(0), 'args'],
        [new Set([1]), 'args'],
        [{ toJSON: () => 'text' }, 'args'],
      ];
      for (const [args, path] of bad) {
        for (const send of [client.call({}, 'm', args as object), client.cast({}, 'm', args as object)]) {
          const error = await rejectionOf(send);
          expect(error, path).to.be.instanceOf(SerializationError);
          expect(error).to.include({ path, outcome: 'not-sent' });
        }
      }
      const context = await rejectionOf(client.call({ user: { f: () => {} } }, 'm'));
      expect(context).to.include({ code: 'ERR_SERIALIZATION', path: 'context.user.f' });
      for (const name of [undefined, 5, null, {}] as unknown as string[]) {
        expect(await rejectionOf(client.call({}, name))).to.include({
          code: 'ERR_SERIALIZATION',
          path: 'method',
        });
        expect(await rejectionOf(client.cast({}, name))).to.include({ code: 'ERR_SERIALIZATION' });
      }
      await turn();
      expect(seen).to.deep.equal([]);
      expect(bed().pending).to.equal(0);
    });

    it('fails at once for a destination that was never declared (AMQP-33)', async () => {
      await bed().serve({ m: () => 1 });
      const client = bed().client();
      for (const other of [client.prepare({ topic: 'nobody' }), client.prepare({ server: 'nobody' })]) {
        const error = await rejectionOf(other.call({}, 'm'));
        expect(error).to.include({ code: 'ERR_UNDELIVERABLE', outcome: 'not-sent' });
      }
      expect(bed().pending).to.equal(0);
    });
  });
}

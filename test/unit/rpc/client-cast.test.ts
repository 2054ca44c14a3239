import type { Destination, PublishOptions, WireMessage } from '@ebbgate/core';
import { readRequest } from '#rpc/envelope.js';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { bytesDriver } from '../../support/bytes-driver.js';
import { deferred, rejectionOf, turn, until } from '../../support/deferred.js';
import { FORMS, MARKER, useBed } from '../../support/rpc-bed.js';

for (const form of FORMS) {
  describe(`RpcClient.cast() with messages as ${form}`, () => {
    const bed = useBed(form);

    it('resolves when the broker has the message, before its handler has finished', async () => {
      const gate = deferred();
      const seen: unknown[] = [];
      await bed().serve({
        async record(_context: unknown, args: object) {
          await gate.promise;
          seen.push(args);
        },
      });
      await bed().client().cast({}, 'record', { a: 1, marker: MARKER });
      expect(seen).to.deep.equal([]);
      gate.resolve();
      await until(() => seen.length === 1);
      expect(seen).to.deep.equal([{ a: 1, marker: MARKER }]);
    });

    it('reaches every server of the topic with fanout, each with an object of its own', async () => {
      const seen: object[] = [];
      const endpoint = (name: string): object => ({
        note: (_context: unknown, args: { by: string[] }) => {
          args.by.push(name);
          seen.push(args);
        },
      });
      await bed().serve(endpoint('a'), {}, { server: 'a' });
      await bed().serve(endpoint('b'), {}, { server: 'b' });
      await bed().serve(endpoint('c'), {}, { server: 'c', topic: 'other' });
      await bed().client().prepare({ fanout: true }).cast({}, 'note', { by: [] });
      await until(() => seen.length === 2);
      await turn();
      expect(seen).to.have.deep.members([{ by: ['a'] }, { by: ['b'] }]);
    });

    it('succeeds as a fanout that nobody hears (AMQP-33)', async () => {
      await bed().client({}, { topic: 'silence', fanout: true }).cast({}, 'm');
      expect(bed().dropped).to.deep.equal([]);
    });

    it('fails at once for a destination that was never declared, unless that is allowed (AMQP-33)', async () => {
      const client = bed().client({}, { topic: 'nobody' });
      expect(await rejectionOf(client.cast({}, 'm'))).to.include({ code: 'ERR_UNDELIVERABLE' });
      const lax = client.prepare({ transportOptions: { atLeastOnce: false } });
      await lax.cast({}, 'm');
    });

    it('waits for a server that is down and was there before', async () => {
      const seen: string[] = [];
      const server = await bed().serve({ m: () => seen.push('m') });
      await server.stop();
      await server.wait();
      await bed().client().cast({}, 'm');
      await server.start();
      await until(() => seen.length === 1);
    });

    it('makes no reply, whatever the method does (RPC-09)', async () => {
      await bed().serve({
        fine: () => 'a result',
        unsendable: () => () => {},
        fails: () => {
          throw new Error('no');
        },
        rejects: () => Promise.reject(new Error('no')),
      });
      const server = await bed().serve({ done: () => 'done' }, {}, { topic: 'end' });
      for (const method of ['fine', 'unsendable', 'fails', 'rejects', 'missing', '_private']) {
        await bed().client().cast({}, method);
        await bed().client().prepare({ fanout: true }).cast({}, method);
      }
      await bed().client({}, { topic: 'end' }).call({}, 'done');
      await until(() => bed().log.at('error').length === 4);
      await turn();
      expect(server.counts.run).to.equal(1);
      expect(
        bed()
          .log.at('warn')
          .map(({ message }) => message),
      ).to.deep.equal([
        'A request was refused: Endpoint does not support RPC method missing',
        'A request was refused: Endpoint does not support RPC method _private',
      ]);
      expect(
        bed()
          .log.at('debug')
          .filter(({ message }) => message.includes('reply')),
      ).to.deep.equal([]);
      expect(bed().errors).to.deep.equal([]);
    });
  });
}

describe('a cast on the wire', () => {
  const sent: (readonly [Destination, WireMessage, PublishOptions])[] = [];
  const bed = useBed('objects', () => {
    sent.length = 0;
    return [bytesDriver((...args) => sent.push(args))];
  });

  it('carries no reply address, no monitor and no expiry (RPC-09)', async () => {
    const server = await bed().serve({ m: () => 'result' });
    const client = bed().client({ timeoutMs: 500, callMonitorTimeoutMs: 500 });
    await client.cast({}, 'm');
    await client.prepare({ fanout: true }).cast({}, 'm');
    await until(() => server.counts.run === 2);
    await turn();
    expect(sent.map(([destination]) => destination.kind)).to.deep.equal(['topic', 'fanout']);
    expect(sent.map(([, , { mandatory }]) => mandatory)).to.deep.equal([true, false]);
    for (const [, message] of sent) {
      expect(message).to.include({ deadline: undefined, expirationMs: undefined });
      expect(readRequest(message)).to.include({ msgId: undefined, replyTo: undefined, monitorMs: undefined });
      expect(Buffer.from(message.body.encode()).toString()).to.not.match(/_msg_id|_reply_q|_timeout/);
    }
  });

  it('gives every send an id of its own (RPC-19)', async () => {
    await bed().serve({ m: () => 1 });
    for (let n = 0; n < 20; n += 1) await bed().client().cast({}, 'm');
    const ids = sent.map(([, message]) => readRequest(message).uniqueId);
    expect(new Set(ids).size).to.equal(20);
    for (const id of ids) expect(id).to.match(/^[0-9a-f]{32}$/);
  });
});

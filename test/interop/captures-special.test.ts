import { RpcClient, RpcServer } from '@ebbgate/rpc';
import { expect } from 'chai';
import { afterEach, describe, it } from 'mocha';
import { rejectionOf } from '../support/deferred.js';
import { within } from '../support/rigs/deadline.js';
import { innerOf, readCapture, wireEvents } from './replay/capture.js';
import { CASES } from './replay/cases.js';
import { ClientReplay, recordedSends } from './replay/client.js';
import { OurSide } from './replay/our-side.js';
import { recordedErrors } from './replay/recorded-errors.js';

const LIMIT_MS = 5_000;

describe('recorded cases that are more than an exchange of messages', function () {
  this.timeout(10_000);
  const sides: OurSide[] = [];

  async function start(name: string): Promise<OurSide> {
    const side = await OurSide.start(CASES[name]?.options);
    sides.push(side);
    return side;
  }

  afterEach(async () => {
    await Promise.all(sides.splice(0).map((side) => side.close()));
  });

  it('amqp_heartbeats: sends them in time on every connection, and lives on those of the broker (W24, AMQP-13, AMQP-14)', async () => {
    const side = await start('amqp_heartbeats');
    await side.transport.connect();
    const beats = side.peer.connections.map((connection) =>
      side.peer.next('heartbeat', (event) => event.connection === connection),
    );
    const began = performance.now();
    await within('a heartbeat of each', LIMIT_MS, Promise.all(beats));
    const recorded = wireEvents(readCapture('amqp_heartbeats')).filter(
      ({ method, dir }) => method === 'heartbeat' && dir === 'C>S',
    );
    expect(recorded.length).to.be.greaterThan(0);
    expect(performance.now() - began).to.be.lessThan(4_000); // two intervals; Python's come every 2 to 2.5 s
    expect(side.transport.status().connection).to.equal('connected');
  });

  it('call_fanout_refused: sends nothing (RPC-10)', async () => {
    const side = await start('call_fanout_refused');
    const client = new RpcClient(side.transport, { topic: 'compute', fanout: true });
    expect(await rejectionOf(client.call({}, 'echo', { value: 1 }))).to.include({
      code: 'ERR_INVALID_TARGET',
    });
    expect(side.peer.events).to.deep.equal([]);
    expect(recordedSends(readCapture('call_fanout_refused'))).to.deep.equal([]);
  });

  it('version_cap: refuses the same versions in the client, and says which may be sent (RPC-11)', async () => {
    const side = await start('version_cap');
    const { outcome } = readCapture('version_cap');
    const capped = new RpcClient(side.transport, { topic: 'compute' }, { versionCap: '1.3' });
    const versions = { 'no version asked': null, '1.4 over cap 1.3': '1.4', '2.0 over cap 1.3': '2.0' };
    for (const [step, version] of Object.entries(versions)) {
      expect(outcome[step]?.[0]?.raised?.type).to.equal('RPCVersionCapError');
      const error = await rejectionOf(capped.prepare({ version }).call({}, 'echo', { value: 1 }));
      expect(error).to.include({ code: 'ERR_VERSION_CAP', versionCap: '1.3' });
    }
    const can = outcome['can_send_version']?.[0]?.returned as Record<string, boolean>; // as recorded
    for (const [version, allowed] of Object.entries(can))
      expect(capped.canSendVersion(version), version).to.equal(allowed);
    expect(() => capped.prepare({ version: 'one' })).to.throw(
      /major and minor integer. Got one|version.*"one"/,
    );
    expect(side.peer.events).to.deep.equal([]);
  });

  it('opt_compression_bz2: is refused when the transport is made, not with every send (W25)', async () => {
    const { outcome } = readCapture('opt_compression_bz2');
    expect(outcome['call echo']?.[0]?.raised?.type).to.equal('MessageDeliveryFailure');
    const refused = await rejectionOf(OurSide.start({ kombu_compression: 'bz2' }));
    expect(refused).to.include({ code: 'ERR_CONFIGURATION' });
    expect(refused.message).to.match(/kombu_compression.*bz2/);
  });

  it('head/head_call_latency: ten calls take no half second each', async () => {
    const capture = readCapture('head/head_call_latency');
    const side = await start('head/head_call_latency');
    const replay = new ClientReplay(side, recordedErrors());
    const began = performance.now();
    for (const sent of recordedSends(capture)) await replay.send(sent);
    expect(performance.now() - began).to.be.lessThan(2500); // Python's ten take five seconds
  });

  it('reply_queue_gone: tries a reply every 0.25 s for as long as the option says, then knows its queue (W28, AMQP-25)', async () => {
    const side = await start('reply_queue_gone');
    side.peer.script('basic.publish', (event, connection) => {
      const { exchange, routingKey } = event.args;
      const args = { replyCode: 312, replyText: 'NO_ROUTE', exchange, routingKey };
      connection.send(event.channel, 'basic.return', args, { body: event.body ?? '' });
      connection.answer(event);
    });
    const seen: unknown[] = [];
    const echo = (_context: unknown, { value }: { value?: unknown }): unknown => seen.push(value) && value;
    const server = new RpcServer(side.transport, { topic: 'compute', server: 'server-1' }, [{ echo }]);
    await server.start();
    const consume = side.peer.received('basic.consume')[0];
    const events = wireEvents(readCapture('reply_queue_gone'));
    const requests = events.filter(({ method }) => method === 'basic.deliver');
    const dropped = (): Promise<unknown> =>
      new Promise((resolve) => side.transport.events.on('dropped', resolve));
    for (const [index, { body }] of requests.entries()) {
      const drop = dropped();
      const properties = { contentType: 'application/json', contentEncoding: 'utf-8' };
      consume?.connection.deliver(consume.channel, 'amq.ctag-compute', index + 1, { properties, body });
      expect(await within('the drop', LIMIT_MS, drop)).to.include({ reason: 'reply-undeliverable' });
    }
    const recorded = events.filter(({ method }) => method === 'basic.publish');
    const ours = side.peer.received('basic.publish');
    expect(seen).to.deep.equal([1, 1]);
    expect(ours.length).to.be.within(recorded.length - 2, recorded.length); // 2 s and a quarter of one each
    expect(
      new Set(ours.map(({ args }) => `${String(args['routingKey'])} ${String(args['mandatory'])}`)),
    ).to.deep.equal(new Set(['reply_gone true']));
    const ids = ours.map(
      ({ body }) => innerOf({ body: body ?? Buffer.alloc(0), properties: {} })['_unique_id'],
    );
    expect(new Set(ids)).to.have.property('size', 1); // W28
    await server.stop();
    await server.wait();
  });
});

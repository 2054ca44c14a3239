import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createTransport, Target } from '@ebbgate/core';
import {
  ComputeApi,
  type ComputeApiOptions,
  Instance,
  LibvirtLiveMigrateData,
  type MethodRow,
  Migration,
} from '@ebbgate/compute';
import { type ClientCall, RpcServer, ValidationError } from '@ebbgate/rpc';
import { computeMethods } from '#compute/rpc/methods.js';
import { BlockDeviceMappingList, Flavor, ImageMeta, NetworkRequestList, RequestSpec } from '@ebbgate/compute';

const SAMPLES: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['string', 'text'],
  ['number', 1],
  ['boolean', true],
  ['dict', {}],
  ['list', []],
  ['any', null],
  ['nothing', null],
  ['object', Flavor.create({})],
  ['Instance', Instance.create({ uuid: 'i' })],
  ['Instances', []],
  ['Events', []],
  ['Migration', Migration.create({ uuid: 'm' })],
  ['Flavor', Flavor.create({})],
  ['ImageMeta', ImageMeta.create({})],
  ['RequestSpec', RequestSpec.create({})],
  ['MigrateData', LibvirtLiveMigrateData.create({})],
  ['BlockDevices', BlockDeviceMappingList.create({ objects: [] })],
  ['NetworkRequests', NetworkRequestList.create({ objects: [] })],
]);

function sample(kind: string): unknown {
  return SAMPLES.get(kind.replace('?', ''));
}

function sampleArgs(row: MethodRow): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row.args).map(([name, kind]) => [name, sample(kind)]));
}

/** An API whose messages end in a list instead of at a broker. */
function recording(options: ComputeApiOptions = {}): { api: ComputeApi; sent: ClientCall[] } {
  const sent: ClientCall[] = [];
  const transport = createTransport('memory://routing-unit/');
  const record = (call: ClientCall): Promise<unknown> => {
    sent.push(call);
    return Promise.resolve(sample(computeMethods.get(call.method)?.returns ?? 'any'));
  };
  return { api: new ComputeApi(transport, { ...options, interceptors: [record] }), sent };
}

async function send(api: ComputeApi, method: string, row: MethodRow): Promise<void> {
  // Names and arguments come from the table, so they fit; the compiler can't see that in a loop.
  if (row.kind === 'cast') await api.cast({}, method as 'live_migration', 'h1', sampleArgs(row) as never);
  else await api.call({}, method as 'get_host_uptime', 'h1', sampleArgs(row));
}

describe('routing of compute messages', () => {
  for (const [method, row] of computeMethods) {
    const ops = row.topic === 'ops';
    it(`sends ${method} ${row.version} to ${ops ? 'compute-ops' : 'compute'} (GS-38, GS-39, GS-41)`, async () => {
      const { api, sent } = recording();
      await send(api, method, row);
      expect(sent).to.have.length(1);
      expect(sent[0]?.kind).to.equal(row.kind === 'cast' ? 'cast' : 'call');
      expect(sent[0]?.target).to.include({
        topic: ops ? 'compute-ops' : 'compute',
        server: 'h1',
        version: row.version,
        fanout: undefined,
      });
    });
  }

  it('sends all to compute when the cap says that a receiver is too old for ops (GS-40, COMP-05)', async () => {
    const { api, sent } = recording({ versionCap: '6.4' });
    for (const [method, row] of computeMethods) await send(api, method, row);
    expect(sent.map(({ target }) => target.topic)).to.deep.equal([...computeMethods].map(() => 'compute'));
  });

  it('sends to ops under a cap of exactly 6.5, and never says 6.5 on the wire (GS-40)', async () => {
    const { api, sent } = recording({ versionCap: '6.5' });
    for (const [method, row] of computeMethods) await send(api, method, row);
    const versions = new Set(sent.map(({ target }) => target.version));
    expect(sent.filter(({ target }) => target.topic === 'compute-ops')).to.have.length(18);
    expect([...versions]).to.have.members(['6.0', '6.2', '6.3', '6.4']);
  });

  it('takes another name for the ops topic (GS-27)', async () => {
    const { api } = recording({ opsTopic: 'compute-alt' });
    expect(await api.topicOf('live_migration', 'h1')).to.equal('compute-alt');
    expect(await api.topicOf('prep_resize', 'h1')).to.equal('compute');
  });

  it('keeps the topic of one message from all others (COMP-05)', async () => {
    const { api, sent } = recording();
    await Promise.all([
      api.cast({}, 'live_migration_abort', 'h1', { instance: Instance.create({}), migration_id: 1 }),
      api.call({}, 'get_host_uptime', 'h2', {}),
      api.cast({}, 'live_migration_abort', 'h3', { instance: Instance.create({}), migration_id: 2 }),
    ]);
    await api.call({}, 'get_host_uptime', 'h4', {});
    expect(sent.map(({ target }) => `${target.topic ?? ''}.${target.server ?? ''}`)).to.deep.equal([
      'compute-ops.h1',
      'compute.h2',
      'compute-ops.h3',
      'compute.h4',
    ]);
  });

  it('leaves out what older receivers do not know, and says the older version', async () => {
    const removal = { instance: Instance.create({ uuid: 'i' }), volume_id: 'v', delete_attachment: true };
    const old = recording({ versionCap: '6.2' });
    await old.api.call({}, 'remove_volume_connection', 'h1', removal);
    expect(old.sent[0]?.target.version).to.equal('6.0');
    expect(old.sent[0]?.args).to.have.all.keys('instance', 'volume_id');
    const recent = recording({ versionCap: '6.3' });
    await recent.api.call({}, 'remove_volume_connection', 'h1', removal);
    expect(recent.sent[0]?.target.version).to.equal('6.3');
    expect(recent.sent[0]?.args).to.have.all.keys('instance', 'volume_id', 'delete_attachment');
  });

  it('refuses arguments that do not fit before anything is sent', async () => {
    const { api, sent } = recording();
    const wrong = { instance: 'vm1', migration_id: 1, extra: 0 } as unknown as {
      instance: Instance;
      migration_id: number;
    };
    const error: unknown = await api
      .cast({}, 'live_migration_abort', 'h1', wrong)
      .catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(ValidationError);
    expect((error as ValidationError).issues.map(({ path }) => path)).to.deep.equal(['instance', 'extra']);
    expect(sent).to.have.length(0);
  });

  it('reaches one host on each of its two topics, over a broker (GS-26, GS-27)', async () => {
    const transport = createTransport('memory://routing-wire/');
    const arrived: string[] = [];
    const serve = async (topic: string): Promise<RpcServer> => {
      const endpoint = {
        get_host_uptime: () => arrived.push(topic) && 'up',
        validate_console_port: () => arrived.push(topic) && true,
      };
      const server = new RpcServer(transport, { topic, server: 'h1' }, [versioned(endpoint)]);
      await server.start();
      return server;
    };
    const servers = [await serve('compute'), await serve('compute-ops')];
    const api = new ComputeApi(transport);
    expect(await api.call({}, 'get_host_uptime', 'h1', {})).to.equal('up');
    const console = { instance: Instance.create({ uuid: 'i' }), port: '5900', console_type: 'novnc' };
    expect(await api.call({}, 'validate_console_port', 'h1', console)).to.equal(true);
    expect(arrived).to.deep.equal(['compute', 'compute-ops']);
    for (const server of servers) {
      await server.stop();
      await server.wait();
    }
    await transport.close();
  });
});

function versioned(endpoint: object): object {
  return { ...endpoint, target: new Target({ version: '6.5' }) };
}

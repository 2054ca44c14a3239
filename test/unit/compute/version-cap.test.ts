import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ConfigurationError, createTransport } from '@ebbgate/core';
import { type ClientCall, RpcVersionCapError } from '@ebbgate/rpc';
import {
  ComputeApi,
  type ComputeApiOptions,
  Instance,
  LibvirtLiveMigrateData,
  MemoryRecords,
  type ServiceRecord,
} from '@ebbgate/compute';
import { readVersionCap, rpcVersionOf } from '#compute/rpc/version-levels.js';
import { rejectionOf } from '../../support/deferred.js';

const INSTANCE = Instance.create({ uuid: 'i' });

/** An API whose messages end in a list, with records of hosts beside it. */
class Bench {
  readonly records: MemoryRecords = new MemoryRecords(() => undefined);
  readonly sent: ClientCall[] = [];
  readonly api: ComputeApi;

  constructor(options: ComputeApiOptions = {}) {
    const transport = createTransport('memory://version-cap-unit/');
    const { services } = this.records;
    const record = (call: ClientCall): Promise<unknown> => {
      this.sent.push(call);
      return Promise.resolve(null);
    };
    this.api = new ComputeApi(transport, { services, ...options, interceptors: [record] });
  }

  async host(host: string, version: number): Promise<void> {
    await this.records.services.register({
      binary: 'compute',
      host,
      state: 'running',
      reportedAtMs: 1,
      version,
    });
  }

  forceDown(host: string, forcedDown: boolean): Promise<ServiceRecord> {
    return this.records.services.update('compute', host, { forcedDown });
  }

  /** A method that is on ops; gives the topic that it went to. */
  async topicTo(host: string): Promise<string | undefined> {
    await this.api.cast({}, 'rollback_live_migration_at_destination', host, {
      instance: INSTANCE,
      destroy_disks: false,
      migrate_data: LibvirtLiveMigrateData.create({}),
    });
    return this.sent.at(-1)?.target.topic;
  }

  /** A method with an older form; gives the version that it was sent with. */
  async versionTo(host: string): Promise<string | undefined> {
    await this.api.call({}, 'remove_volume_connection', host, {
      instance: INSTANCE,
      volume_id: 'v',
      delete_attachment: true,
    });
    return this.sent.at(-1)?.target.version;
  }
}

describe('the version cap of compute messages', () => {
  for (const [release, version] of [
    ['xena', '6.0'],
    ['zed', '6.1'],
    ['bobcat', '6.2'],
    ['caracal', '6.3'],
    ['epoxy', '6.4'],
    ['flamingo', '6.4'],
    ['gazpacho', '6.5'],
    ['Gazpacho', '6.5'],
    ['6.4', '6.4'],
    ['auto', 'auto'],
  ] as const) {
    it(`reads ${release} as ${version}`, () => {
      expect(readVersionCap(release)).to.equal(version);
    });
  }

  for (const text of ['', 'newest', '6', '6.x', '5.13', '7.0', 'train', 'AUTO ']) {
    it(`refuses "${text}" and says what it may be`, () => {
      expect(() => readVersionCap(text))
        .to.throw(ConfigurationError, /6\.4, auto, or one of wallaby.*gazpacho/)
        .with.property('code', 'ERR_CONFIGURATION');
      expect(() => new Bench({ versionCap: text })).to.throw(ConfigurationError);
    });
  }

  it('knows which interface a service version stands for, ours included', () => {
    const levels = [55, 56, 63, 64, 66, 67, 68, 70, 71, 73, 999].map(rpcVersionOf);
    expect(levels).to.deep.equal([
      '5.13',
      '6.0',
      '6.0',
      '6.1',
      '6.2',
      '6.3',
      '6.4',
      '6.4',
      '6.5',
      '6.5',
      '6.5',
    ]);
  });

  for (const cap of ['6.4', 'epoxy']) {
    it(`binds every destination when it is explicit, be it as new as may be: ${cap} (GS-40, GS-90, GS-91)`, async () => {
      const bench = new Bench({ versionCap: cap });
      await bench.host('new', 71);
      expect(await bench.topicTo('new')).to.equal('compute');
      expect(await bench.topicTo('unknown')).to.equal('compute');
    });
  }

  it('lets ops be used without a cap, and with one of the first release that has it (GS-40)', async () => {
    expect(await new Bench().topicTo('h')).to.equal('compute-ops');
    expect(await new Bench({ versionCap: 'gazpacho' }).topicTo('h')).to.equal('compute-ops');
  });

  it('is known for each destination under auto (GS-40, GS-90)', async () => {
    const bench = new Bench({ versionCap: 'auto' });
    await bench.host('old', 66);
    await bench.host('new', 71);
    expect([await bench.topicTo('new'), await bench.topicTo('old')]).to.deep.equal([
      'compute-ops',
      'compute',
    ]);
    expect([await bench.versionTo('new'), await bench.versionTo('old')]).to.deep.equal(['6.3', '6.0']);
    expect(bench.sent.at(-1)?.args).to.have.all.keys('instance', 'volume_id');
  });

  it('sends a host without a record what the oldest of the others knows (RPC-20)', async () => {
    const bench = new Bench({ versionCap: 'auto' });
    await bench.host('old', 68);
    await bench.host('new', 73);
    expect(await bench.topicTo('stranger')).to.equal('compute');
  });

  it('leaves forced-down hosts out of that, not their own version (FD-29, RPC-20)', async () => {
    const bench = new Bench({ versionCap: 'auto' });
    await bench.host('old', 68);
    await bench.host('new', 71);
    await bench.forceDown('old', true);
    expect(await bench.topicTo('stranger')).to.equal('compute-ops');
    expect(await bench.topicTo('old')).to.equal('compute');
    await bench.forceDown('old', false);
    await bench.api.refresh();
    expect(await bench.topicTo('stranger')).to.equal('compute');
  });

  it('does not take an empty set for the oldest, nor keeps it: the first host that comes is seen (RPC-20)', async () => {
    const bench = new Bench({ versionCap: 'auto' });
    expect(await bench.topicTo('h')).to.equal('compute-ops');
    await bench.host('h', 66);
    expect(await bench.topicTo('h')).to.equal('compute');
  });

  it('does not take only forced-down hosts, or hosts that tell no version, for the oldest (FD-29, RPC-20)', async () => {
    const bench = new Bench({ versionCap: 'auto' });
    await bench.host('old', 66);
    await bench.host('silent', 0);
    await bench.forceDown('old', true);
    expect(await bench.topicTo('stranger')).to.equal('compute-ops');
    expect(await bench.topicTo('silent')).to.equal('compute-ops');
  });

  it('refuses what a host of another major version would get', async () => {
    const bench = new Bench({ versionCap: 'auto' });
    await bench.host('ancient', 54);
    const error = await rejectionOf(bench.topicTo('ancient'));
    expect(error).to.be.instanceOf(RpcVersionCapError);
    expect(error.code).to.equal('ERR_VERSION_CAP');
  });

  it('follows a host that was upgraded when it is refreshed (GS-92, RPC-20)', async () => {
    const bench = new Bench({ versionCap: 'auto' });
    await bench.host('h', 66);
    expect(await bench.topicTo('h')).to.equal('compute');
    await bench.host('h', 71);
    expect(await bench.topicTo('h')).to.equal('compute');
    await bench.api.refresh();
    expect(await bench.topicTo('h')).to.equal('compute-ops');
  });

  it('switches over to ops when the cap is removed and the clients refresh; the hosts do nothing (GS-92)', async () => {
    let cap: string | undefined = '6.4';
    const bench = new Bench({ versionCap: cap, readVersionCap: () => cap });
    await bench.host('h', 71);
    expect(await bench.topicTo('h')).to.equal('compute');
    cap = undefined;
    expect(await bench.topicTo('h')).to.equal('compute');
    await bench.api.refresh();
    expect(await bench.topicTo('h')).to.equal('compute-ops');
  });

  it('keeps the cap that it has when the new one is none', async () => {
    const bench = new Bench({ versionCap: 'epoxy', readVersionCap: () => 'epoxi' });
    expect(await rejectionOf(bench.api.refresh())).to.be.instanceOf(ConfigurationError);
    expect(await bench.topicTo('h')).to.equal('compute');
  });

  it('needs records for auto', () => {
    const make = (): ComputeApi =>
      new ComputeApi(createTransport('memory://version-cap-unit/'), { versionCap: 'auto' });
    expect(make).to.throw(ConfigurationError, /needs the records/);
  });

  it('refuses to leave out what was asked for: a host that is too old must not do something else', async () => {
    const { api, sent } = new Bench({ versionCap: '6.1' });
    const rebuild = {
      instance: INSTANCE,
      new_pass: null,
      injected_files: [],
      image_ref: 'i',
      orig_image_ref: 'i',
      orig_sys_metadata: null,
      bdms: null,
      recreate: false,
      on_shared_storage: false,
      preserve_ephemeral: false,
      migration: null,
      scheduled_node: null,
      limits: null,
      request_spec: null,
      accel_uuids: [],
      reimage_boot_volume: true,
      target_state: null,
    };
    await api.cast({}, 'rebuild_instance', 'h', rebuild);
    expect(sent[0]?.target.version).to.equal('6.1');
    expect(sent[0]?.args).to.include({ reimage_boot_volume: true }).and.not.have.property('target_state');
    const stopped = await rejectionOf(
      api.cast({}, 'rebuild_instance', 'h', { ...rebuild, target_state: 'stopped' }),
    );
    expect(stopped).to.be.instanceOf(RpcVersionCapError).and.include({ version: '6.2', versionCap: '6.1' });
    const older = new Bench({ versionCap: 'wallaby' });
    const reimaged = await rejectionOf(older.api.cast({}, 'rebuild_instance', 'h', rebuild));
    expect(reimaged).to.be.instanceOf(RpcVersionCapError).and.include({ version: '6.1', versionCap: '6.0' });
    await older.api.cast({}, 'rebuild_instance', 'h', { ...rebuild, reimage_boot_volume: false });
    expect(older.sent[0]?.target.version).to.equal('6.0');
  });
});

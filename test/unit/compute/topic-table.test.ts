import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { after, describe, it } from 'mocha';
import { ConfigurationError, createTransport } from '@ebbgate/core';
import { ComputeApi, type ComputeApiOptions } from '@ebbgate/compute';
import { readConductorOptions, readComputeOptions } from '#compute/main/daemon-options.js';
import { readTopicOverrides, topicTable } from '#compute/rpc/topic-table.js';

function api(options: ComputeApiOptions): ComputeApi {
  return new ComputeApi(createTransport('memory://topic-table-unit/'), options);
}

describe('the configured table of topics', () => {
  it('sends single methods elsewhere than the table says (GS-39, GS-41, GS-64)', async () => {
    const ours = api({ topics: { rebuild_instance: 'main', confirm_resize: 'ops' } });
    expect(await ours.topicOf('rebuild_instance', 'h')).to.equal('compute');
    expect(await ours.topicOf('confirm_resize', 'h')).to.equal('compute-ops');
    expect(await ours.topicOf('live_migration', 'h')).to.equal('compute-ops');
  });

  it('still sends nothing to the ops topic of a host that has none (GS-40, COMP-05)', async () => {
    const ours = api({ topics: { confirm_resize: 'ops' }, versionCap: '6.4' });
    expect(await ours.topicOf('confirm_resize', 'h')).to.equal('compute');
  });

  it('takes Nova’s own name for the ops topic, or any other (GS-27)', async () => {
    expect(await api({ opsTopic: 'compute-alt' }).topicOf('finish_resize', 'h')).to.equal('compute-alt');
  });

  for (const opsTopic of ['compute', '', 'with space', '.hidden', 'a/b', 'x'.repeat(201)]) {
    it(`refuses "${opsTopic.slice(0, 20)}" as ops topic`, () => {
      expect(() => api({ opsTopic }))
        .to.throw(ConfigurationError, /ops topic must be/)
        .with.property('code', 'ERR_CONFIGURATION');
    });
  }

  it('refuses methods and topics that there are not', () => {
    expect(() => topicTable({ topics: { evict_instance: 'ops' } })).to.throw(
      ConfigurationError,
      /no such method/,
    );
    expect(() =>
      topicTable({ topics: JSON.parse('{"__proto__": "ops"}') as { [method: string]: 'ops' } }),
    ).to.throw(ConfigurationError, /__proto__/);
    expect(() => readTopicOverrides('confirm_resize=sideways')).to.throw(
      ConfigurationError,
      /main or ops, not "sideways"/,
    );
    expect(() => readTopicOverrides('confirm_resize')).to.throw(ConfigurationError, /main or ops, not ""/);
  });

  it('reads overrides as users write them', () => {
    expect(readTopicOverrides('rebuild_instance=main, confirm_resize = ops,')).to.deep.equal({
      rebuild_instance: 'main',
      confirm_resize: 'ops',
    });
    expect(readTopicOverrides('')).to.deep.equal({});
  });
});

describe('how daemons are told how hosts are called', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ebbgate-test-'));
  const file = join(folder, 'ebbgate.conf');
  after(() => {
    rmSync(folder, { recursive: true });
  });

  function config(...lines: string[]): string {
    writeFileSync(file, `${lines.join('\n')}\n`);
    return file;
  }

  it('takes it from flags', () => {
    const { computeVersionCap, opsTopic, topics, readVersionCap } = readConductorOptions({
      computeVersionCap: 'epoxy',
      opsTopic: 'compute-alt',
      topic: 'rebuild_instance=main',
    });
    expect([computeVersionCap, opsTopic, readVersionCap]).to.deep.equal(['epoxy', 'compute-alt', undefined]);
    expect(topics).to.deep.equal({ rebuild_instance: 'main' });
  });

  it('takes it from a configuration file in the form of Nova’s, after what flags say', () => {
    const path = config(
      '# a comment',
      '[DEFAULT]',
      'ops_topic = compute-alt',
      'graceful_shutdown_timeout = 300',
      'rpc_response_timeout: 30',
      '',
      '[upgrade_levels]',
      'compute = auto',
      '[topics]',
      'rebuild_instance = main',
    );
    const read = readComputeOptions({ config: path, stateDir: '/s', rpcResponseTimeout: '40' });
    expect(read).to.deep.include({
      computeVersionCap: 'auto',
      opsTopic: 'compute-alt',
      rpcResponseTimeout: 40,
    });
    expect(read.topics).to.deep.equal({ rebuild_instance: 'main' });
    expect(read.budgets.gracefulShutdownTimeoutMs).to.equal(300_000);
  });

  it('reads the cap of the file again, and not one that a flag has set (GS-92)', () => {
    const path = config('[upgrade_levels]', 'compute = 6.4');
    const { readVersionCap } = readConductorOptions({ config: path });
    expect(readVersionCap?.()).to.equal('6.4');
    config('[DEFAULT]');
    expect(readVersionCap?.()).to.equal(undefined);
    expect(readConductorOptions({ config: path, computeVersionCap: '6.4' }).readVersionCap).to.equal(
      undefined,
    );
  });

  for (const [what, lines, words] of [
    ['a section that is none', ['[upgrade_level]', 'compute = auto'], /\[upgrade_level\] has no "compute"/],
    ['another service', ['[upgrade_levels]', 'scheduler = auto'], /Line 2 .*has no "scheduler"/],
    ['a line that is none', ['[DEFAULT]', 'auto'], /Line 2 .*must be/],
    ['an option that is none', ['grateful_shutdown_timeout = 1'], /gratefulShutdownTimeout/],
    ['a cap that is none', ['[upgrade_levels]', 'compute = kilo'], /"kilo"/],
    ['a method that is none', ['[topics]', 'reboot = ops'], /no such method/],
  ] as const) {
    it(`refuses ${what} in it`, () => {
      const path = config(...lines);
      expect(() => readConductorOptions({ config: path })).to.throw(ConfigurationError, words);
    });
  }

  it('says so when the file is not there', () => {
    expect(() => readConductorOptions({ config: join(folder, 'none.conf') })).to.throw(
      ConfigurationError,
      /cannot be read/,
    );
  });
});

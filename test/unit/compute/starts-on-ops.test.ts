import { RpcClient } from '@ebbgate/rpc';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { computeMethods } from '#compute/rpc/methods.js';
import { RPC_TOPIC_OPS } from '@ebbgate/compute';
import { codeOf, DEST, SOURCE, withCloud } from './test-cloud.js';

/** What an operation under way needs of the other side, and what shortens one. */
const FOLLOW_UPS = [
  'pre_live_migration',
  'live_migration',
  'post_live_migration_at_destination',
  'remove_volume_connection',
  'rollback_live_migration_at_destination',
  'drop_move_claim_at_destination',
  'resize_instance',
  'finish_resize',
  'check_instance_shared_storage',
  'finish_revert_resize',
  'prep_snapshot_based_resize_at_source',
  'finish_snapshot_based_resize_at_dest',
  'finish_revert_snapshot_based_resize_at_source',
  'external_instance_event',
  'live_migration_abort',
  'live_migration_force_complete',
];
/** What only looks, or sets something that is no operation. */
const LOOKS = [
  'validate_console_port',
  'get_console_output',
  'get_vnc_console',
  'get_spice_console',
  'get_serial_console',
  'get_host_uptime',
  'set_host_enabled',
];

describe('the column `starts` of the table of methods', () => {
  it('marks all but follow-ups and what only looks (GS-1, decision 24)', () => {
    const others = [...computeMethods].filter(([, row]) => !row.starts).map(([name]) => name);
    const nova = others.filter((name) => !name.startsWith('get_'));
    expect(nova).to.have.members([...FOLLOW_UPS, ...LOOKS].filter((name) => !name.startsWith('get_')));
    expect(others).to.include.members(LOOKS);
  });

  it('keeps a host that drains from beginning anything, with all methods on ops by configuration (GS-1)', () =>
    withCloud({ hosts: [SOURCE, DEST] }, async (test) => {
      const uuid = await test.bootActive();
      const held = test.virt(SOURCE).steps.hold('upload-image');
      await test.cloud.actions.snapshot({}, uuid);
      await held.reached;
      const { ended } = await test.terminate(SOURCE);
      const { registry } = test.cloud.host(SOURCE).process.service;
      const begun: string[] = [];
      registry.events.on('opened', ({ name }) => begun.push(name));
      const { transport } = test.cloud.computeApi;
      const client = new RpcClient(transport, { topic: RPC_TOPIC_OPS, server: SOURCE, version: '6.0' });
      const starting = [...computeMethods].filter(([, row]) => row.starts);
      for (const [method, { kind }] of starting) {
        if (kind === 'cast') await client.cast({}, method, {});
        else expect(await codeOf(client.call({}, method, {})), method).to.equal('ERR_DRAINING');
      }
      expect(await client.call({}, 'get_host_uptime', {})).to.be.a('string'); // served after all of them
      const casts = starting.filter(([, { kind }]) => kind === 'cast').map(([name]) => `hand_on:${name}`);
      expect(begun.filter((name) => name !== 'get_host_uptime')).to.have.members(casts);
      held.release();
      const { code, report } = await ended;
      expect([code, report.unfinished]).to.deep.equal([0, []]);
    }));
});

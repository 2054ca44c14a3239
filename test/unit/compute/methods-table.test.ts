import { expect } from 'chai';
import { describe, it } from 'mocha';
import { COMPUTE_METHODS, decodeObjects, type MethodRow } from '@ebbgate/compute';
import { checkArgs } from '#compute/rpc/check-args.js';
import { computeMethods } from '#compute/rpc/methods.js';
import { methodsPage } from '#compute/rpc/methods-page.js';
import { methodsText } from '#compute/rpc/methods-text.js';
import { topicTable } from '#compute/rpc/topic-table.js';
import { readCaptures } from './captures.js';

/** Where the blueprint puts each method, by the id of its requirement. */
const ROUTES: readonly (readonly [id: string, method: string, topic: 'main' | 'ops'])[] = [
  ['GS-42', 'check_can_live_migrate_destination', 'main'],
  ['GS-43', 'check_can_live_migrate_source', 'main'],
  ['GS-45', 'pre_live_migration', 'ops'],
  ['GS-46', 'live_migration', 'ops'],
  ['GS-47', 'remove_volume_connection', 'ops'],
  ['GS-48', 'post_live_migration_at_destination', 'ops'],
  ['GS-49', 'rollback_live_migration_at_destination', 'ops'],
  ['GS-50', 'drop_move_claim_at_destination', 'ops'],
  ['GS-51', 'prep_snapshot_based_resize_at_dest', 'main'],
  ['GS-52', 'prep_snapshot_based_resize_at_source', 'ops'],
  ['GS-53', 'prep_resize', 'main'],
  ['GS-54', 'resize_instance', 'ops'],
  ['GS-55', 'finish_resize', 'ops'],
  ['GS-56', 'confirm_resize', 'main'],
  ['GS-57', 'confirm_snapshot_based_resize_at_source', 'main'],
  ['GS-58', 'revert_resize', 'main'],
  ['GS-59', 'check_instance_shared_storage', 'ops'],
  ['GS-60', 'finish_revert_resize', 'ops'],
  ['GS-61', 'revert_snapshot_based_resize_at_dest', 'main'],
  ['GS-62', 'finish_revert_snapshot_based_resize_at_source', 'ops'],
  ['GS-63', 'external_instance_event', 'ops'],
  ['GS-64', 'rebuild_instance', 'ops'],
  ['GS-65', 'validate_console_port', 'ops'],
  ['GS-66', 'finish_snapshot_based_resize_at_dest', 'ops'],
  ['GS-67', 'build_and_run_instance', 'main'],
];

/** On ops beyond the blueprint, so that a migration that holds up a drain can be shortened. */
const OPS_OF_OURS = ['live_migration_abort', 'live_migration_force_complete'];

describe('the table of compute methods', () => {
  for (const [id, method, topic] of ROUTES) {
    it(`sends ${method} to the ${topic} topic (${id})`, () => {
      expect(computeMethods.get(method)?.topic).to.equal(topic);
    });
  }

  it('puts nothing else on ops but what shortens a migration (GS-41)', () => {
    const ops = [...computeMethods].filter(([, row]) => row.topic === 'ops').map(([name]) => name);
    const named = ROUTES.filter(([, , topic]) => topic === 'ops').map(([, name]) => name);
    expect(ops).to.have.members([...named, ...OPS_OF_OURS]);
  });

  it('marks a rebuild as what begins an operation although it is on ops (GS-64)', () => {
    const starting = [...computeMethods]
      .filter(([, row]) => row.topic === 'ops' && row.starts)
      .map(([name]) => name);
    expect(starting).to.deep.equal(['rebuild_instance']);
  });

  it('has a version of the interface in every row, none below that in which the method appeared', () => {
    for (const [name, row] of computeMethods) {
      expect(row.version, name).to.match(/^6\.\d$/);
      expect(row.since, name).to.match(/^[1-6]\.\d+$/);
      expect(Number.parseFloat(row.since), name).to.be.at.most(6.5);
    }
  });

  const known = readCaptures().filter(
    ({ method, name }) => computeMethods.has(method) && !name.includes('error'),
  );
  for (const { name, kind, method, version, args } of known) {
    it(`agrees with what the Nova client sent in ${name}`, () => {
      const row: MethodRow | undefined = computeMethods.get(method);
      if (!row) throw new TypeError('the row is there');
      expect(row.kind === 'cast' ? 'cast' : 'call').to.equal(kind);
      checkArgs(method, row, decodeObjects(args) as Record<string, unknown>); // throws when they differ
      const forms = [row.version, ...(row.older ?? []).map((form) => form.version)];
      expect(forms).to.include(version);
    });
  }

  it('is printed whole, for people and as JSON', () => {
    const lines = methodsText(false).trimEnd().split('\n');
    expect(lines).to.have.length(computeMethods.size + 1);
    expect(lines.find((line) => line.startsWith('live_migration '))).to.contain('compute-ops');
    expect(JSON.parse(methodsText(true))).to.deep.equal(COMPUTE_METHODS);
  });

  it('is printed with the topics that are configured (GS-39, GS-41)', () => {
    const topics = topicTable({
      opsTopic: 'compute-alt',
      topics: { rebuild_instance: 'main', pause_instance: 'ops' },
    });
    const topicIn = (text: string, name: string): string | undefined =>
      new RegExp(`^(?:\\| \`)?${name}[\` |]+[a-z-]+[ |\`]+([a-z-]+)`, 'm').exec(text)?.[1];
    for (const text of [methodsText(false, topics), methodsPage(topics)]) {
      expect(topicIn(text, 'live_migration')).to.equal('compute-alt');
      expect(topicIn(text, 'rebuild_instance')).to.equal('compute');
      expect(topicIn(text, 'pause_instance')).to.equal('compute-alt');
    }
    expect(JSON.parse(methodsText(true, topics))).to.have.nested.property('rebuild_instance.topic', 'main');
  });
});

import { randomUUID } from 'node:crypto';
import { RpcClient } from '@ebbgate/rpc';
import {
  type Instance,
  LibvirtLiveMigrateData,
  Migration,
  RequestSpec,
  type MigrationStatus,
  RPC_TOPIC,
  RPC_TOPIC_OPS,
} from '@ebbgate/compute';
import { objectSerializer } from '#compute/rpc/object-serializer.js';
import { computeMethods } from '#compute/rpc/methods.js';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { turn, until } from '../../support/deferred.js';
import { liveOutcomeOf, stayed } from './live-migration-words.js';
import { BIGGER, migrationOf } from './resize-words.js';
import { codeOf, DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

/** So long that no test sees it happen: what ends, ends because it was told. */
const NO_RECHECK = { recheckMs: 600_000 } as const;

/** What a kind of argument is given as, when the request is only to arrive. */
function sample(kind: string, { instance, migration }: Subjects): unknown {
  const samples: ReadonlyMap<string, unknown> = new Map<string, unknown>([
    ['string', 'text'],
    ['boolean', false],
    ['dict', {}],
    ['list', []],
    ['object', BIGGER],
    ['Instance', instance],
    ['Migration', migration],
    ['Migration?', migration],
    ['Flavor', BIGGER],
    ['MigrateData', LibvirtLiveMigrateData.create({})],
    ['RequestSpec', RequestSpec.create({ instance_uuid: instance.get('uuid'), flavor: BIGGER })],
  ]);
  return samples.get(kind) ?? null;
}

/** What a host holds open after a request, for the move that the request only prepares. */
const ENGAGES: ReadonlyMap<string, string> = new Map([
  ['check_can_live_migrate_destination', 'live_migration_at_dest'],
  ['check_can_live_migrate_source', 'live_migration_at_source'],
]);

interface Subjects {
  readonly instance: Instance;
  readonly migration: Migration;
}

/** An instance that runs, and a migration of it; one that is over, unless told: nothing that is asked for has any effect. */
async function subjectsOf(
  test: TestCloud,
  type: 'resize' | 'live-migration' = 'resize',
  status: MigrationStatus = 'error',
): Promise<Subjects> {
  const instance = await test.cloud.records.instances.get(await test.bootActive());
  const ended = Migration.create({
    uuid: randomUUID(),
    instance_uuid: instance.get('uuid'),
    source_compute: SOURCE,
    source_node: SOURCE,
    dest_compute: DEST,
    dest_node: DEST,
    status,
    migration_type: type,
  });
  return { instance, migration: await test.cloud.records.migrations.create(ended) };
}

describe('what was found wrong in Nova, and is not so here', () => {
  it('a live migration that is taken back with shared disks lets the destination drain at once (B4)', () =>
    withCloud({ ...NO_RECHECK, sharedStorage: true }, async (test) => {
      test.virt(SOURCE).steps.failNext('copy-memory');
      const uuid = await test.bootActive();
      await test.migrate(uuid);
      await test.migrationBecomes(uuid, 'failed');
      expect(await liveOutcomeOf(test, uuid)).to.deep.equal(stayed('failed'));
      expect(test.arrived).to.include(`rollback_live_migration_at_destination @ ${RPC_TOPIC_OPS}.${DEST}`);
      const { ended } = await test.terminate(DEST);
      const { code, report } = await ended;
      expect([code, report.outcome, report.unfinished]).to.deep.equal([0, 'clean', []]);
    }));

  it('a live migration that comes to ops after the clean-up does not begin (B7)', () =>
    withCloud(NO_RECHECK, async (test) => {
      const { instance, migration } = await subjectsOf(test, 'live-migration', 'accepted');
      const uuid = instance.get('uuid');
      await test.cloud.records.instances.update(uuid, { task_state: 'migrating' });
      const { service } = test.cloud.host(SOURCE).process;
      const opened: string[] = [];
      const sent = new Promise<void>((resolve, reject) => {
        service.events.on('step', ({ phase, name }) => {
          if (name !== 'cleanup' || phase !== 'finished') return;
          service.registry.events.on('opened', ({ name: task }) => opened.push(task));
          const data = LibvirtLiveMigrateData.create({});
          const args = { instance, dest: DEST, block_migration: false, migrate_data: data, migration };
          test.cloud.computeApi.cast({}, 'live_migration', SOURCE, args).then(resolve, reject);
        });
      });
      const { ended } = await test.terminate(SOURCE);
      await sent;
      expect((await ended).code).to.equal(0);
      expect(opened).to.deep.equal([]);
      expect(test.arrived).to.not.include(`live_migration @ ${RPC_TOPIC_OPS}.${SOURCE}`);
      expect((await migrationOf(test, uuid)).get('status')).to.equal('accepted');
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([SOURCE]);
      await test.cloud.host(SOURCE).start(); // the message was kept for it
      await test.migrationBecomes(uuid, 'completed');
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([DEST]);
    }));

  it('a request whose instance is null, or not there, is a task like any other, and is answered (B14)', () =>
    withCloud(NO_RECHECK, async (test) => {
      const target = { topic: RPC_TOPIC_OPS, server: SOURCE, version: '6.0' };
      const client = new RpcClient(test.cloud.computeApi.transport, target);
      const opened: string[] = [];
      const { registry } = test.cloud.host(SOURCE).process.service;
      registry.events.on('opened', ({ name, subject }) => opened.push(`${name} of ${String(subject)}`));
      const method = 'check_instance_shared_storage';
      expect(await client.call({}, method, { data: {} })).to.equal(false);
      expect(await codeOf(client.call({}, method, { instance: null, data: {} }))).to.equal('ERR_VALIDATION');
      expect(opened).to.deep.equal([`${method} of null`, `${method} of null`]);
      await test.idle(SOURCE);
    }));

  for (const [method, row] of computeMethods) {
    it(`${method} is counted as one task (B15)`, () =>
      withCloud({}, async (test) => {
        const subjects = await subjectsOf(test);
        await test.idle(SOURCE);
        const args = Object.fromEntries(
          Object.entries(row.args).map(([name, kind]) => [name, sample(kind, subjects)]),
        );
        const opened: string[] = [];
        const { registry } = test.cloud.host(SOURCE).process.service;
        registry.events.on('opened', ({ name }) => {
          if (!name.startsWith('periodic:') && name !== ENGAGES.get(method)) opened.push(name);
        });
        const topic = row.topic === 'ops' ? RPC_TOPIC_OPS : RPC_TOPIC;
        const target = { topic, server: SOURCE, version: row.version };
        const client = new RpcClient(test.cloud.computeApi.transport, target, {
          serializer: objectSerializer,
        });
        await client.cast({}, method, args);
        await until(() => test.arrived.includes(`${method} @ ${topic}.${SOURCE}`));
        await until(() => opened.length > 0);
        await turn();
        expect(opened, opened.join()).to.have.length(1);
      }));
  }
});

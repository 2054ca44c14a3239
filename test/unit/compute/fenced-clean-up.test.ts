import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTransport, silentLogger } from '@ebbgate/core';
import {
  conductorService,
  HypervisorDirectory,
  Instance,
  type LocalRecords,
  MemoryRecords,
  Migration,
} from '@ebbgate/compute';
import { cleanUp } from '#compute/main/clean-up-command.js';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { rejectionOf } from '../../support/deferred.js';

const HOST = 'a';

interface Bed {
  readonly records: LocalRecords;
  readonly machines: HypervisorDirectory;
  /** Runs the command, for a folder below that of the test. */
  readonly run: (folder?: string) => Promise<string>;
}

/** A conductor with one host, which does not run, and a guest on its machine. */
async function withHost(work: (bed: Bed) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'ebbgate-test-'));
  const transport = createTransport('memory://fenced-clean-up/');
  const records = new MemoryRecords(() => undefined);
  const conductor = conductorService({
    name: 'c',
    transport,
    records: { served: records },
    scheduler: 'local',
    logger: silentLogger,
  });
  await conductor.service.start();
  await records.services.register({ binary: 'compute', host: HOST, state: 'exited', reportedAtMs: 1 });
  const machines = new HypervisorDirectory(folder);
  machines.storeOf(HOST).set('u', 'running');
  try {
    await work({
      records,
      machines,
      run: (below = '') =>
        cleanUp({ host: HOST, stateDir: join(folder, below) }, transport, 2000, silentLogger),
    });
  } finally {
    await conductor.service.drain('end');
    await rm(folder, { recursive: true });
  }
}

async function evacuated({ instances, migrations, services }: LocalRecords, status: 'done' | 'accepted') {
  await instances.create(
    Instance.create({ uuid: 'u', host: status === 'done' ? 'b' : HOST, vm_state: 'active' }),
  );
  const evacuation = { uuid: 'm', instance_uuid: 'u', source_compute: HOST, dest_compute: 'b' };
  await migrations.create(Migration.create({ ...evacuation, migration_type: 'evacuation', status }));
  await services.update('compute', HOST, { forcedDown: true });
}

describe('the command that cleans up a host that does not start while it is forced down (FD-11)', () => {
  it('removes the guests of evacuations that are done, and completes these', () =>
    withHost(async ({ records, machines, run }) => {
      await evacuated(records, 'done');
      expect(await run()).to.equal('a is clean: 1 evacuations are completed');
      expect(machines.locate('u')).to.deep.equal([]);
      expect((await records.migrations.get('m')).get('status')).to.equal('completed');
      expect(await run()).to.equal('a is clean: 0 evacuations are completed');
    }));

  it('shuts down, and does not destroy, what is still being evacuated (decision 32)', () =>
    withHost(async ({ records, machines, run }) => {
      await evacuated(records, 'accepted');
      await run();
      expect(machines.storeOf(HOST).state('u')).to.equal('shutdown');
      expect((await records.migrations.get('m')).get('status')).to.equal('accepted');
    }));

  it('does nothing to a host that is not forced down, nor in a folder that is not its own', () =>
    withHost(async ({ records, machines, run }) => {
      expect((await rejectionOf(run())).message).to.equal(
        'a is not forced down: its own process cleans up when it starts',
      );
      await evacuated(records, 'done');
      expect((await rejectionOf(run('other'))).message).to.match(
        /other is not where the guests of a are: it has no such folder$/,
      );
      expect((await records.migrations.get('m')).get('status')).to.equal('done');
      expect(machines.locate('u')).to.deep.equal([HOST]);
    }));
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { RecordWatch } from '#compute/db/record-watch.js';
import { RecordedJob } from '#compute/main-job/recorded-job.js';
import { Liveness } from '#compute/servicegroup/liveness.js';
import { createTransport, silentLogger, type Transport } from '@ebbgate/core';
import {
  ComputeApi,
  ComputeHost,
  ConductorApi,
  conductorService,
  FakeVirtDriver,
  HypervisorDirectory,
  InstanceActions,
  Rebuilds,
  RemoteNetworking,
  RemoteRecords,
  Servers,
} from '@ebbgate/compute';
import { stateOf } from './resize-words.js';
import { DEST, SOURCE } from './test-cloud.js';

const LIMIT = { timeoutMs: 4000 };

function open(): Transport {
  return createTransport('memory://actions-over-rpc/', { logger: silentLogger, controlExchange: 'nova' });
}

describe('actions on hosts that have their records over RPC, and their guests in a folder', () => {
  it('go from stop and snapshot through rebuild and evacuate to delete', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ebbgate-actions-'));
    const transport = open();
    const { service, own } = conductorService({
      name: 'conductor-1',
      transport: open(),
      records: 'memory',
      logger: silentLogger,
    });
    if (!own) throw new TypeError('the conductor has the records');
    const [records, networking] = [new RemoteRecords(transport), new RemoteNetworking(transport)];
    const network = new HypervisorDirectory(folder);
    const hosts = [SOURCE, DEST].map((name) => {
      const virt = new FakeVirtDriver(name, { network, networking, spawnMs: 0, migrationMs: 0 });
      return new ComputeHost({ name, openTransport: open, records, networking, virt, logger: silentLogger });
    });
    const [source] = hosts;
    const watch = new RecordWatch(own);
    const conductor = new ConductorApi(transport);
    const computeApi = new ComputeApi(transport);
    const parts = { records, computeApi, conductor, networking, liveness: new Liveness() };
    const [actions, rebuilds] = [new InstanceActions(parts), new Rebuilds(parts)];
    try {
      await service.start();
      for (const one of hosts) await one.start();
      const recorded = await RecordedJob.read();
      const { context } = recorded;
      const request = recorded.bootRequest(1, SOURCE);
      const uuid = (await new Servers(parts).boot(context, request)).get('uuid');
      const becomes = (state: string) => watch.instance(uuid, (one) => stateOf(one) === state, LIMIT);
      await becomes('active/-');
      await actions.stop(context, uuid);
      await becomes('stopped/-');
      await actions.snapshot(context, uuid);
      await becomes('stopped/-');
      expect(await actions.consoleOutput(context, uuid, 1)).to.equal('is shutdown');
      await rebuilds.rebuild(context, uuid);
      await becomes('stopped/-');
      await source?.terminate();
      await rebuilds.evacuate(context, uuid);
      await watch.migration(uuid, (one) => one.get('status') === 'done', LIMIT);
      expect(network.locate(uuid)).to.deep.equal([SOURCE, DEST]);
      await source?.start();
      expect(network.locate(uuid)).to.deep.equal([DEST]);
      expect((await records.allocations.find({ consumer: uuid })).map(({ host }) => host)).to.deep.equal([
        DEST,
      ]);
      await becomes('stopped/-');
      await actions.delete(context, uuid);
      await becomes('deleted/-');
      expect(network.locate(uuid)).to.deep.equal([]);
      expect(await records.allocations.find({})).to.deep.equal([]);
    } finally {
      for (const one of hosts) if (one.runs > 0) await one.terminate();
      await service.drain('the test is over');
      await transport.close();
      await rm(folder, { recursive: true });
    }
  });
});

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
  type Instance,
  Moves,
  RemoteNetworking,
  RemoteRecords,
  Servers,
} from '@ebbgate/compute';
import { BIGGER, stateOf } from './resize-words.js';
import { DEST, SOURCE } from './test-cloud.js';

const LIMIT = { timeoutMs: 4000 };

function open(): Transport {
  return createTransport('memory://resize-over-rpc/', { logger: silentLogger, controlExchange: 'nova' });
}

describe('a resize between hosts that have their records over RPC, and their guests in a folder', () => {
  for (const [end, host, size] of [
    ['confirmResize', DEST, 1024],
    ['revertResize', SOURCE, 512],
  ] as const) {
    it(`goes from its request to ${end}`, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'ebbgate-resize-'));
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
        return new ComputeHost({
          name,
          openTransport: open,
          records,
          networking,
          virt,
          logger: silentLogger,
        });
      });
      const watch = new RecordWatch(own);
      const becomes = (uuid: string, state: string): Promise<Instance> =>
        watch.instance(uuid, (one) => stateOf(one) === state, LIMIT);
      try {
        await service.start();
        for (const one of hosts) await one.start();
        const conductor = new ConductorApi(transport);
        const computeApi = new ComputeApi(transport);
        const parts = { records, computeApi, conductor, networking, liveness: new Liveness() };
        const moves = new Moves(parts);
        const { context, ...job } = await bootRequest();
        const uuid = (await new Servers(parts).boot(context, job.request)).get('uuid');
        await becomes(uuid, 'active/-');
        await moves.resize(context, uuid, BIGGER);
        await becomes(uuid, 'resized/-');
        expect([network.locate(uuid), network.storeOf(SOURCE).kept()]).to.deep.equal([[DEST], [uuid]]);
        await moves[end](context, uuid);
        await becomes(uuid, 'active/-');
        for (const one of hosts) await one.process.service.registry.whenIdle();
        expect([network.locate(uuid), network.storeOf(SOURCE).kept()]).to.deep.equal([[host], []]);
        const allocations = await records.allocations.find({});
        expect(allocations.map((one) => [one.consumer, one.host, one.resources.memoryMb])).to.deep.equal([
          [uuid, host, size],
        ]);
      } finally {
        for (const one of hosts) if (one.runs > 0) await one.terminate();
        await service.drain('the test is over');
        await transport.close();
        await rm(folder, { recursive: true });
      }
    });
  }
});

async function bootRequest() {
  const recorded = await RecordedJob.read();
  return { context: recorded.context, request: recorded.bootRequest(1, SOURCE) };
}

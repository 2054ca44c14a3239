import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createTransport, silentLogger, type Transport } from '@ebbgate/core';
import {
  ComputeApi,
  ComputeHost,
  conductorService,
  FakeVirtDriver,
  HypervisorNetwork,
  RemoteNetworking,
  RemoteRecords,
} from '@ebbgate/compute';
import { CapturedLog } from '../../support/captured-log.js';
import { deferred } from '../../support/deferred.js';
import { eventually } from '../../support/rigs/deadline.js';

const HOST = 'compute-a';
const WAITS = 'Whether this host is forced down cannot be read yet: the start waits';
const GOES_ON = 'Whether this host is forced down can be read now: the start goes on';
let clouds = 0;

interface Early {
  readonly host: ComputeHost;
  readonly log: CapturedLog;
  readonly transport: Transport;
  /** As the host has them. */
  readonly records: RemoteRecords;
  readonly conductor: ReturnType<typeof conductorService>;
}

/** On a host whose records are those of a conductor that is not there yet; all that runs is ended. */
async function withEarlyHost(work: (early: Early) => Promise<void>): Promise<void> {
  clouds += 1;
  const url = `memory://start-order-${clouds}/`;
  const open = (): Transport => createTransport(url, { logger: silentLogger, controlExchange: 'nova' });
  const transport = open();
  const conductor = conductorService({
    name: 'conductor-1',
    transport: open(),
    records: 'memory',
    logger: silentLogger,
  });
  const [records, networking] = [new RemoteRecords(transport), new RemoteNetworking(transport)];
  const log = new CapturedLog();
  const host = new ComputeHost({
    name: HOST,
    openTransport: open,
    records,
    networking,
    virt: new FakeVirtDriver(HOST, {
      network: new HypervisorNetwork(),
      networking,
      spawnMs: 0,
      migrationMs: 0,
    }),
    logger: log,
  });
  try {
    await work({ host, log, transport, records, conductor });
  } finally {
    await host.terminate();
    await conductor.service.drain('the test is over');
    await transport.close();
  }
}

async function waits({ log }: Early): Promise<void> {
  await eventually('it waits', 4000, () => log.at('warn').some(({ message }) => message === WAITS));
}

describe('a compute host that starts before there is a conductor', () => {
  it('waits for it, says so once, and that it goes on, and then serves (COMP-08)', () =>
    withEarlyHost(async (early) => {
      const { host, log, transport, conductor } = early;
      const started = host.start();
      await waits(early);
      expect(host.process.service.state).to.equal('starting');
      await conductor.service.start();
      await started;
      expect(host.process.service.state).to.equal('running');
      expect(await new ComputeApi(transport).call({}, 'get_host_uptime', HOST, {})).to.be.a('string');
      expect(log.at('warn').map(({ message }) => message)).to.deep.equal([WAITS]);
      expect(log.at('info').map(({ message }) => message)).to.deep.equal([GOES_ON]);
    }));

  it('is stopped while it waits, with 0, and has never served (COMP-08, GS-104)', () =>
    withEarlyHost(async (early) => {
      const { host, conductor } = early;
      const started = host.start().then(
        () => 'started',
        () => 'given up',
      );
      await waits(early);
      expect((await host.terminate()).code).to.equal(0);
      expect(await started).to.equal('given up');
      await conductor.service.start();
      expect(await conductor.own?.services.find({ binary: 'compute' })).to.deep.equal([]);
    }));

  it('is stopped while an answer is waited for that does not come, as from a broker that is away (COMP-08)', () =>
    withEarlyHost(async ({ host, records }) => {
      const asked = deferred();
      records.services.get = () => {
        asked.resolve();
        return new Promise<never>(() => undefined);
      };
      const started = host.start().catch(() => 'given up');
      await asked.promise;
      expect((await host.terminate()).code).to.equal(0);
      expect(await started).to.equal('given up');
    }));
});

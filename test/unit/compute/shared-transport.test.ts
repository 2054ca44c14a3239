import { createTransport, sourceNames, type Transport } from '@ebbgate/core';
import { NO_NOTIFICATIONS, OperationAbortedError } from '@ebbgate/compute';
import { RpcClient, RpcServer } from '@ebbgate/rpc';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { HostConnection } from '#compute/compute/host-connection.js';
import { CapturedLog } from '../../support/captured-log.js';
import { deferred } from '../../support/deferred.js';
import { DEST, SOURCE, withCloud } from './test-cloud.js';

const SHARED = { sharedTransport: true } as const;

describe('hosts that share a transport', () => {
  it('leave it open at their ends, to the others and to their own next runs, and leave nothing on it (COMP-01)', () =>
    withCloud(SHARED, async ({ cloud }) => {
      const { computeApi } = cloud;
      const { transport } = computeApi;
      const listened = (): readonly string[] =>
        transport
          .status()
          .listeners.map(({ source }) => sourceNames(source))
          .map(({ topic, server }) => `${topic}.${server}`)
          .sort();
      const before = listened();
      expect(before).to.include(`compute.${SOURCE}`).and.include(`compute-ops.${SOURCE}`);
      expect((await cloud.host(SOURCE).terminate()).code).to.equal(0);
      expect(transport.state).to.equal('open');
      expect(listened()).to.deep.equal(before.filter((name) => !name.endsWith(SOURCE)));
      expect(await computeApi.call({}, 'get_host_uptime', DEST, {})).to.match(/^up /);
      await cloud.host(SOURCE).start();
      expect(listened()).to.deep.equal(before);
      expect(await computeApi.call({}, 'get_host_uptime', SOURCE, {})).to.match(/^up /);
    }));

  it('move guests between them while one drains (GS-3)', () =>
    withCloud({ ...SHARED, migrationMs: 60 }, async (test) => {
      const uuid = await test.bootActive(SOURCE);
      await test.migrate(uuid);
      await test.migrationBecomes(uuid, 'running');
      const { ended } = await test.terminate(SOURCE);
      const { code, report } = await ended;
      expect([code, report.unfinished]).to.deep.equal([0, []]);
      expect(await test.stateOf(uuid)).to.equal(`active/-@${DEST}`);
    }));

  it('are gone from it when they are cut off in the middle, and recover at their next start (COMP-07)', () =>
    withCloud({ ...SHARED, migrationMs: 300 }, async (test) => {
      const uuid = await test.bootActive(SOURCE);
      await test.migrate(uuid);
      await test.migrationBecomes(uuid, 'running');
      const { transport } = test.cloud.computeApi;
      await test.crash(SOURCE);
      expect(transport.state).to.equal('open');
      expect(
        transport.status().listeners.some(({ source }) => sourceNames(source).server === SOURCE),
      ).to.equal(false);
      await test.revive(SOURCE);
      await test.becomes(uuid, 'active/-');
      expect(test.cloud.hypervisors.locate(uuid)).to.have.length(1);
      expect(test.arrived).to.not.include(`post_live_migration_at_destination @ compute-ops.${DEST}`);
    }));
});

describe('the connection of a host to a shared transport', () => {
  let transport: Transport;
  let connection: HostConnection;
  let log: CapturedLog;

  beforeEach(() => {
    log = new CapturedLog();
    transport = createTransport('memory:');
    connection = new HostConnection({
      openTransport: () => transport,
      ownsTransport: false,
      notifications: NO_NOTIFICATIONS,
      logger: log,
    });
  });

  afterEach(() => transport.close());

  it('ends what waits for answers, and sends nothing more, while the transport goes on', async () => {
    const asked = deferred();
    const endpoint = {
      hang: () => {
        asked.resolve();
        return new Promise(() => undefined);
      },
      echo: () => 'yes',
    };
    const server = new RpcServer(transport, { topic: 't', server: 's' }, [endpoint]);
    await server.start();
    const { interceptors } = connection;
    const client = new RpcClient(transport, { topic: 't' }, { interceptors });
    const failure = client.call({}, 'hang').catch((error: unknown) => error);
    await asked.promise;
    await connection.end([], 1000);
    expect(await failure).to.be.instanceOf(OperationAbortedError);
    expect(await client.cast({}, 'echo').catch((error: unknown) => error)).to.be.instanceOf(
      OperationAbortedError,
    );
    expect(await new RpcClient(transport, { topic: 't' }).call({}, 'echo')).to.equal('yes');
    expect(server.counts.run).to.equal(2);
  });

  it('does not wait for a handler that does not end beyond the limit, and says so', async () => {
    const asked = deferred();
    const endpoint = {
      hang: () => {
        asked.resolve();
        return new Promise(() => undefined);
      },
    };
    const server = new RpcServer(transport, { topic: 't', server: 's' }, [endpoint]);
    await server.start();
    await new RpcClient(transport, { topic: 't' }).cast({}, 'hang');
    await asked.promise;
    await connection.end([server], 20);
    expect(server.state).to.equal('stopped');
    expect(log.lines.map(({ message }) => message)).to.include('A server has not ended in order');
  });
});

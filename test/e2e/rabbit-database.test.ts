import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTransport, silentLogger } from '@ebbgate/core';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import { ConductorApi, Liveness, openRecords, RemoteRecords, Servers } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { RecordedJob } from '#compute/main-job/recorded-job.js';
import { DaemonProcess } from '../support/daemon-process.js';
import { eventually } from '../support/rigs/deadline.js';
import { sharedPostgres } from '../support/rigs/shared-postgres.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';

const [rabbit, postgres] = await Promise.all([sharedRabbit(), sharedPostgres()]);
const recorded = await RecordedJob.read({ freshIds: true });
const A = 'compute-a';
const B = 'compute-b';
const LIMIT_MS = 25_000;

describe('conductors as processes with one database, on RabbitMQ', function () {
  this.timeout(90_000);

  for (const [name, databaseIn] of [
    ['SQLite', (folder: string) => Promise.resolve(`sqlite:///${join(folder, 'records.sqlite')}`)],
    ['PostgreSQL', () => postgres.database()],
  ] as const) {
    it(`in ${name}: share the work, lose nothing when one is killed, and when all have ended (GS-19, GS-20, COMP-05)`, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'ebbgate-test-'));
      const [url, database] = await Promise.all([rabbit.vhost(), databaseIn(folder)]);
      const transport = createTransport(url, { drivers: [rabbitDriver], controlExchange: 'nova' });
      const records = new RemoteRecords(transport, { timeoutMs: 10_000 });
      const servers = new Servers({
        records,
        conductor: new ConductorApi(transport),
        liveness: new Liveness(),
      });
      const daemons: DaemonProcess[] = [];
      const start = async (...argv: string[]): Promise<DaemonProcess> => {
        const daemon = new DaemonProcess(url, argv);
        daemons.push(daemon);
        await daemon.serves();
        return daemon;
      };
      const boot = async (number: number): Promise<string> => {
        const { context } = recorded;
        const uuid = (await servers.boot(context, recorded.bootRequest(number, A))).get('uuid');
        await eventually(`instance ${number} is active`, LIMIT_MS, async () => {
          return (await records.instances.get(uuid)).get('vm_state') === 'active';
        });
        return uuid;
      };
      try {
        const conductor = (one: string) =>
          start('conductor', '--name', one, '--database', database, '--scheduler', 'local');
        const [c1, c2] = await Promise.all([conductor('c1'), conductor('c2')]);
        const host = ['--state-dir', join(folder, 'guests'), '--boot-ms', '20', '--migration-ms', '300'];
        await Promise.all([A, B].map((one) => start('compute', '--host', one, ...host)));
        const uuids = [await boot(1), await boot(2), await boot(3)];
        c1.child.kill('SIGKILL');
        await c1.ended;
        uuids.push(await boot(4));
        await servers.liveMigrate(recorded.context, uuids[0] ?? '', B);
        await eventually('it has moved', LIMIT_MS, async () => {
          const [migration] = await records.migrations.find({});
          return migration?.get('status') === 'completed'; // what is written last
        });
        const told = [c1, c2].flatMap(({ events }) => events).filter(({ kind }) => kind === 'record');
        expect(told.length).to.be.greaterThan(0);
        c2.child.kill('SIGTERM');
        expect(await c2.ended).to.deep.equal({ code: 0, signal: null });
        const left = await openRecords(database, { logger: silentLogger });
        const found = await left.instances.find({ vm_state: 'active' });
        expect(found.map((one) => one.get('uuid')).sort()).to.deep.equal([...uuids].sort());
        expect((await left.migrations.find({})).map((one) => one.get('status'))).to.deep.equal(['completed']);
        const claims = await left.allocations.find({});
        expect(claims.map(({ consumer }) => consumer).sort()).to.deep.equal([...uuids].sort());
        await left.close();
        await conductor('c3');
        expect((await records.instances.get(uuids[0] ?? '')).get('host')).to.equal(B);
      } catch (error) {
        const logs = daemons.map(({ log }) => log).join('\n');
        throw new Error(`It failed; the daemons have logged:\n${logs}`, { cause: error });
      } finally {
        for (const { child } of daemons) child.kill('SIGKILL');
        await Promise.all(daemons.map(({ ended }) => ended));
        await transport.close();
        await rm(folder, { recursive: true });
      }
    });
  }
});

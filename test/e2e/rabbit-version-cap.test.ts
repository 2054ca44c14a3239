import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTransport } from '@ebbgate/core';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import { ConductorApi, Liveness, RemoteRecords, Servers } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { DaemonEvent } from '#compute/main-job/daemon-events.js';
import { RecordedJob } from '#compute/main-job/recorded-job.js';
import { DaemonProcess } from '../support/daemon-process.js';
import { eventually } from '../support/rigs/deadline.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';

const rabbit = await sharedRabbit();
const recorded = await RecordedJob.read({ freshIds: true });
const A = 'compute-a';
const B = 'compute-b';
const LIMIT_MS = 20_000;

/** A conductor and hosts on a virtual host of their own, and what users ask of them. */
interface Site {
  readonly folder: string;
  start(...argv: string[]): Promise<DaemonProcess>;
  /** Boots an instance there; resolves when it is active. */
  boot(host: string): Promise<string>;
  /** Moves it; resolves when it is there. */
  move(uuid: string, dest: string): Promise<void>;
}

async function withSite(work: (site: Site) => Promise<void>): Promise<void> {
  const url = await rabbit.vhost();
  const folder = await mkdtemp(join(tmpdir(), 'ebbgate-test-'));
  const transport = createTransport(url, { drivers: [rabbitDriver], controlExchange: 'nova' });
  const records = new RemoteRecords(transport, { timeoutMs: 10_000 });
  const servers = new Servers({ records, conductor: new ConductorApi(transport), liveness: new Liveness() });
  const daemons: DaemonProcess[] = [];
  let number = 0;
  const active = async (uuid: string, host: string): Promise<void> => {
    await eventually(`instance ${uuid} is active on ${host}`, LIMIT_MS, async () => {
      const instance = await records.instances.get(uuid);
      const isThere = instance.get('host') === host && instance.get('task_state') === null;
      return isThere && instance.get('vm_state') === 'active';
    });
  };
  try {
    await work({
      folder,
      start: async (...argv) => {
        const daemon = new DaemonProcess(url, argv);
        daemons.push(daemon);
        await daemon.serves();
        return daemon;
      },
      boot: async (host) => {
        number += 1;
        const uuid = (await servers.boot(recorded.context, recorded.bootRequest(number, host))).get('uuid');
        await active(uuid, host);
        return uuid;
      },
      move: async (uuid, dest) => {
        await servers.liveMigrate(recorded.context, uuid, dest);
        await active(uuid, dest);
      },
    });
  } finally {
    for (const { child } of daemons) child.kill('SIGKILL');
    await Promise.all(daemons.map(({ ended }) => ended));
    await transport.close();
    await rm(folder, { recursive: true });
  }
}

function host(name: string, { folder }: Site, ...flags: string[]): readonly string[] {
  return [
    'compute',
    '--host',
    name,
    '--state-dir',
    folder,
    '--boot-ms',
    '20',
    '--migration-ms',
    '50',
    ...flags,
  ];
}

/** Where a daemon has sent messages of a method, the last one last. */
function sentTo(daemon: DaemonProcess, method: string): readonly string[] {
  const isIt = (event: DaemonEvent): boolean => event.kind === 'sent' && event.method === method;
  return daemon.events
    .filter(isIt)
    .map((event) => (event.kind === 'sent' ? `${event.topic}.${event.host}` : ''));
}

describe('the version cap of daemons as processes, on RabbitMQ', function () {
  this.timeout(60_000);

  it('is removed from the configuration, and SIGHUP to the clients lets them use ops; hosts are left alone (GS-91, GS-92, COMP-19)', () =>
    withSite(async (site) => {
      const config = join(site.folder, 'conductor.conf');
      await writeFile(config, '[upgrade_levels]\ncompute = flamingo\n');
      const conductor = await site.start(
        'conductor',
        '--name',
        'c1',
        '--scheduler',
        'local',
        '--config',
        config,
      );
      await site.start(...host(A, site));
      await site.boot(A);
      expect(sentTo(conductor, 'external_instance_event')).to.deep.equal([`compute.${A}`]);
      await writeFile(config, '');
      conductor.child.kill('SIGHUP');
      await eventually('the conductor sends to ops', LIMIT_MS, async () => {
        await site.boot(A);
        return sentTo(conductor, 'external_instance_event').at(-1) === `compute-ops.${A}`;
      });
    }));

  it('is found out for each host under auto: an instance moves from one that is new to one that has no ops server (GS-40, GS-90)', () =>
    withSite(async (site) => {
      const auto = ['--compute-version-cap', 'auto'];
      const conductor = await site.start('conductor', '--name', 'c1', '--scheduler', 'local', ...auto);
      const [source] = await Promise.all([
        site.start(...host(A, site, ...auto)),
        site.start(...host(B, site, ...auto, '--no-ops-server')),
      ]);
      const uuid = await site.boot(A);
      expect(sentTo(conductor, 'external_instance_event')).to.deep.equal([`compute-ops.${A}`]);
      await site.move(uuid, B);
      expect(sentTo(conductor, 'live_migration')).to.deep.equal([`compute-ops.${A}`]);
      expect(sentTo(source, 'pre_live_migration')).to.deep.equal([`compute.${B}`]);
      expect(sentTo(source, 'post_live_migration_at_destination')).to.deep.equal([`compute.${B}`]);
    }));
});

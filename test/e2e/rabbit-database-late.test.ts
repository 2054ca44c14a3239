import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { DaemonProcess } from '../support/daemon-process.js';
import { eventually } from '../support/rigs/deadline.js';
import { freePort } from '../support/rigs/free-port.js';
import { FaultProxy } from '../support/rigs/fault-proxy.js';
import { sharedPostgres } from '../support/rigs/shared-postgres.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';

const [rabbit, postgres] = await Promise.all([sharedRabbit(), sharedPostgres()]);
const LIMIT_MS = 60_000;
const AWAY = 'The database cannot be reached; it is tried again';

/** What it answers to a look whether it lives, whether it is ready, and at its metrics. */
function healthAt(port: number): Promise<readonly number[]> {
  const look = async (path: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}${path}`)).status;
  return Promise.all(['/livez', '/readyz', '/metrics'].map(look));
}

describe('daemons whose database comes later, on RabbitMQ and PostgreSQL', function () {
  this.timeout(120_000);
  let folder: string;
  let proxy: FaultProxy;
  const daemons: DaemonProcess[] = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ebbgate-test-'));
    proxy = await FaultProxy.start({ port: postgres.port });
  });

  after(async () => {
    for (const { child } of daemons) child.kill('SIGKILL');
    await Promise.all(daemons.map(({ ended }) => ended));
    await proxy.close();
    await rm(folder, { recursive: true });
  });

  const CONDUCTOR = ['conductor', '--name', 'c', '--scheduler', 'local'];
  const POOL = ['conductor', '--name', 'p', '--workers', '2'];
  const SCHEDULER = ['scheduler', '--name', 's'];
  const API = ['api', '--name', 'a', '--listen', '127.0.0.1:0'];
  const ALL_IN_ONE = ['all-in-one', '--hosts', 'h', '--transport', 'memory:', '--control', 'none'];

  /** Daemons on one virtual host. */
  async function start(database: string, ...all: readonly (readonly string[])[]): Promise<DaemonProcess[]> {
    const url = await rabbit.vhost();
    const started = all.map((argv) => new DaemonProcess(url, [...argv, '--database', database]));
    daemons.push(...started);
    return started;
  }

  /** The database is behind a port that is closed. */
  async function startWithout(...all: readonly (readonly string[])[]): Promise<DaemonProcess[]> {
    await proxy.setDoorman('refuse');
    const database = (await postgres.database()).replace(`:${postgres.port}/`, `:${proxy.port}/`);
    const started = await start(database, ...all);
    await eventually('all wait', LIMIT_MS, () => started.every(({ log }) => log.includes(AWAY)));
    return started;
  }

  it('wait for it, live and not ready meanwhile, are not ended by SIGHUP, and then serve (COMP-08, HTTP-02)', async () => {
    const port = await freePort();
    const started = await startWithout([...CONDUCTOR, '--health', String(port)], POOL);
    expect(await healthAt(port)).to.deep.equal([200, 503, 200]);
    for (const { child } of started) child.kill('SIGHUP');
    await proxy.setDoorman('forward');
    await Promise.all(started.map((daemon) => daemon.serves()));
    expect(await healthAt(port)).to.deep.equal([200, 200, 200]);
    for (const { child } of started) child.kill('SIGTERM');
    for (const { ended, log } of started) expect(await ended, log).to.deep.equal({ code: 0, signal: null });
    expect(started[0]?.log.split(AWAY)).to.have.length(2); // told once
  });

  it('live and are not ready while they wait, and are stopped by SIGTERM, with 0: a start that was given up (COMP-08, GS-104, HTTP-02)', async () => {
    const daemons = [CONDUCTOR, SCHEDULER, API, ALL_IN_ONE];
    const ports = await Promise.all(daemons.map(() => freePort()));
    const started = await startWithout(
      ...daemons.map((argv, at) => [...argv, '--health', String(ports[at])]),
    );
    for (const port of ports) expect(await healthAt(port)).to.deep.equal([200, 503, 200]);
    for (const { child } of started) child.kill('SIGTERM');
    for (const { ended, log } of started) expect(await ended, log).to.deep.equal({ code: 0, signal: null });
  });

  it('end at once when the password is wrong, and say so without it (COMP-08, SEC-02)', async () => {
    const database = await postgres.database();
    const name = new URL(database).pathname.slice(1);
    const started = await start(postgres.url(name, { password: 'hunter2' }), CONDUCTOR);
    for (const daemon of started) {
      expect((await daemon.ended).code, daemon.log).to.equal(1);
      expect(daemon.log)
        .to.match(/password authentication failed/)
        .and.to.not.contain('hunter2');
    }
  });
});

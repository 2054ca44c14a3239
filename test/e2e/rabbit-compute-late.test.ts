import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { after, before, beforeEach, describe, it } from 'mocha';
import { DaemonProcess } from '../support/daemon-process.js';
import { eventually } from '../support/rigs/deadline.js';
import { freePort } from '../support/rigs/free-port.js';
import { FaultProxy } from '../support/rigs/fault-proxy.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';

const rabbit = await sharedRabbit();
const LIMIT_MS = 60_000;
const COMPUTE = ['compute', '--host', 'a', '--state-dir'];
const NO_BROKER = 'Cannot connect to';
const WAITS = 'Whether this host is forced down cannot be read yet: the start waits';

/** What it answers to a look whether it lives, and whether it is ready. */
function healthAt(port: number): Promise<readonly number[]> {
  const look = async (path: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}${path}`)).status;
  return Promise.all(['/livez', '/readyz'].map(look));
}

describe('a compute daemon whose broker and conductor come later', function () {
  this.timeout(120_000);
  let folder: string;
  let proxy: FaultProxy;
  let url: string;
  /** The broker, behind a port that is closed at first. */
  let behind: string;
  const daemons: DaemonProcess[] = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ebbgate-test-'));
    url = await rabbit.vhost();
    const { port } = new URL(url);
    proxy = await FaultProxy.start({ port: Number(port) });
    behind = url.replace(`:${port}/`, `:${proxy.port}/`);
  });

  beforeEach(() => proxy.setDoorman('refuse'));

  after(async () => {
    for (const { child } of daemons) child.kill('SIGKILL');
    await Promise.all(daemons.map(({ ended }) => ended));
    await proxy.close();
    await rm(folder, { recursive: true });
  });

  function start(at: string, ...argv: readonly string[]): DaemonProcess {
    const daemon = new DaemonProcess(at, argv);
    daemons.push(daemon);
    return daemon;
  }

  it('waits for both, live and not ready meanwhile, and then serves (COMP-08, HTTP-02)', async () => {
    const health = await freePort();
    const compute = start(behind, ...COMPUTE, folder, '--health', String(health));
    await eventually('it has no broker', LIMIT_MS, () => compute.log.includes(NO_BROKER));
    expect(await healthAt(health)).to.deep.equal([200, 503]);
    await proxy.setDoorman('forward');
    await eventually('it has no conductor', LIMIT_MS, () => compute.log.includes(WAITS));
    expect(await healthAt(health)).to.deep.equal([200, 503]);
    const conductor = start(url, 'conductor', '--name', 'c', '--scheduler', 'local', '--database', 'memory:');
    await Promise.all([compute.serves(), conductor.serves()]);
    expect(await healthAt(health)).to.deep.equal([200, 200]);
    compute.child.kill('SIGTERM');
    expect(await compute.ended, compute.log).to.deep.equal({ code: 0, signal: null });
    expect(compute.log.split(WAITS)).to.have.length(2); // told once
  });

  it('is stopped by SIGTERM while it waits, with 0: a start that was given up (COMP-08, GS-104)', async () => {
    const compute = start(behind, ...COMPUTE, folder);
    await eventually('it has no broker', LIMIT_MS, () => compute.log.includes(NO_BROKER));
    compute.child.kill('SIGTERM');
    expect(await compute.ended, compute.log).to.deep.equal({ code: 0, signal: null });
  });
});

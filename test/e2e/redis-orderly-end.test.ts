import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { DaemonProcess } from '../support/daemon-process.js';
import { OperatorCli } from '../support/operator-cli.js';
import { freePort } from '../support/rigs/free-port.js';
import { sharedRedis } from '../support/rigs/shared-redis.js';

const redis = await sharedRedis();
/** What is for whoever serves next, and stays. */
const LASTING = /^[^:]+:\{nova\/[^}]+\}:(declared|(topic|server:[^:]+)(:back|:bell)?)$/;

describe('what is at Redis when the processes of a cloud have ended in order', function () {
  this.timeout(60_000);
  const daemons: DaemonProcess[] = [];
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ebbgate-test-'));
  });

  afterEach(async () => {
    for (const { child } of daemons) child.kill('SIGKILL');
    await Promise.all(daemons.splice(0).map(({ ended }) => ended));
    await rm(folder, { recursive: true });
  });

  function start(url: string, ...argv: string[]): DaemonProcess {
    const daemon = new DaemonProcess(url, argv);
    daemons.push(daemon);
    return daemon;
  }

  async function endsInOrder(...all: readonly DaemonProcess[]): Promise<void> {
    for (const { child } of all) child.kill('SIGTERM');
    for (const daemon of all) expect(await daemon.ended, daemon.log).to.deep.equal({ code: 0, signal: null });
  }

  async function keysOf(prefix: string): Promise<readonly string[]> {
    return (await redis.ask('KEYS', `${prefix}:*`)) as string[];
  }

  /** Boots an instance: everybody has asked somebody then. */
  async function boot(url: string): Promise<void> {
    await new OperatorCli({ EBBGATE_URL: url }).ok('instance', 'boot', 'vm', '--wait');
  }

  it('is what waits for servers, and nothing for replies or fanouts (AMQP-37)', async () => {
    const url = redis.url('key_prefix=ended');
    const health = await freePort();
    const tokens = join(folder, 'tokens.json');
    await writeFile(
      tokens,
      JSON.stringify({ tokens: [{ token: 'of-an-admin', user: 'ann', roles: ['admin'] }] }),
      {
        mode: 0o600,
      },
    );
    const conductor = start(url, 'conductor', '--name', 'c', '--database', 'memory:');
    const scheduler = start(url, 'scheduler', '--name', 's');
    await Promise.all([conductor.serves(), scheduler.serves()]);
    const compute = start(url, 'compute', '--host', 'a', '--state-dir', folder, '--boot-ms', '20');
    const its = ['--listen', '127.0.0.1:0', '--token-file', tokens, '--health', String(health)];
    const api = start(url, 'api', '--name', 'api', ...its);
    await Promise.all([compute.serves(), api.event(({ kind }) => kind === 'listens')]);
    await boot(url);
    const metrics = await (await fetch(`http://127.0.0.1:${String(health)}/metrics`)).text();
    expect(metrics).to.contain('ebbgate_services{binary="nova-compute",state="up"} 1\n');
    const replies = (await keysOf('ended')).filter((key) => /:\{reply_[^}]*\}:state$/.test(key));
    expect(replies).to.have.length.at.least(4); // each has its own
    await endsInOrder(api, compute);
    await endsInOrder(scheduler);
    await endsInOrder(conductor);
    expect((await keysOf('ended')).filter((key) => !LASTING.test(key))).to.deep.equal([]);
  });

  it('is the same when they were one process (AMQP-37)', async () => {
    const url = redis.url('key_prefix=one');
    const its = ['--hosts', 'a,b', '--database', 'memory:', '--control', 'none', '--boot-ms', '20'];
    const cloud = start('', 'all-in-one', '--transport', url, ...its);
    await cloud.event(({ kind }) => kind === 'serves');
    await boot(url);
    await endsInOrder(cloud);
    const keys = await keysOf('one');
    expect(keys).to.not.be.empty;
    expect(keys.filter((key) => !LASTING.test(key))).to.deep.equal([]);
  });
});

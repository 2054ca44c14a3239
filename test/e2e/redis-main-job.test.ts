import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { after, describe, it } from 'mocha';
import { eventually } from '../support/rigs/deadline.js';
import { sharedRedis } from '../support/rigs/shared-redis.js';

const MAIN = fileURLToPath(new URL('../../../packages/compute/dist/main.js', import.meta.url));
const SHORT = ['--migration-ms', '500', '--boot-ms', '40'];
const redis = await sharedRedis();
/** Where the jobs keep their guests. */
const TEMPORARY = mkdtempSync(join(tmpdir(), 'ebbgate-test-'));

interface Run {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function mainJob(url: string, args: readonly string[]): Promise<Run> {
  return new Promise((resolve, reject) => {
    const child: ChildProcess = spawn(process.execPath, [MAIN, 'main-job', '--transport', url, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, TMPDIR: TEMPORARY },
    });
    let out = '';
    let err = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (err += text));
    child.once('error', reject);
    child.once('close', (code) => {
      resolve({ code, out, err });
    });
  });
}

/** Nobody of the job is connected to the store any more: all processes have ended. */
async function deserted(): Promise<void> {
  await eventually('all connections are closed', 10_000, async () => {
    return !String(await redis.ask('client', 'list')).includes('name=ebbgate-');
  });
}

describe('the main job over Redis, each host and the conductor a process', function () {
  this.timeout(60_000);

  after(() => {
    rmSync(TEMPORARY, { recursive: true });
  });

  it('holds all invariants with a real SIGTERM to both hosts (GS-1, GS-2, GS-3, GS-5, GS-6, GS-8, GS-9, GS-72, GS-73, GS-74, GS-75, GS-101, AMQP-37)', async () => {
    const { code, out, err } = await mainJob(redis.url('key_prefix=job'), ['--drain', 'both', ...SHORT]);
    expect(err).to.equal('');
    expect(code, out).to.equal(0);
    for (const host of ['compute-a', 'compute-b']) {
      expect(out).to.contain(`new-request compute.${host} STOPPED, ops compute-ops.${host} serves`);
      expect(out).to.contain(`build_and_run_instance waits in the queue compute.${host}`);
      expect(out).to.contain(`${host}: exits with 0 (clean)`);
    }
    expect(out).to.contain('All invariants hold').and.not.contain('✗');
    await deserted();
    const replies = (await redis.ask('keys', 'job:*:replies')) as string[];
    expect(replies).to.deep.equal([]);
  });

  it('says in words that the store refuses it, with exit code 1 and without the password (AMQP-18)', async () => {
    const url = redis.url('key_prefix=job').replace('//', '//nobody:wr0ng@');
    const { code, out, err } = await mainJob(url, SHORT);
    expect(code).to.equal(1);
    expect(err).to.match(/^error: conductor-1 has died: exit code 1\n.*WRONGPASS/);
    expect(out + err).to.not.contain('wr0ng');
    await deserted();
  });
});

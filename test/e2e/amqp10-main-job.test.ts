import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { after, describe, it } from 'mocha';
import { eventually } from '../support/rigs/deadline.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';

const MAIN = fileURLToPath(new URL('../../../packages/compute/dist/main.js', import.meta.url));
const SHORT = ['--migration-ms', '500', '--boot-ms', '40'];
const rabbit = await sharedRabbit();
const direct = await rabbit.vhost();
const vhost = new URL(direct).pathname.slice(1);
/** Where the jobs keep their guests. */
const TEMPORARY = mkdtempSync(join(tmpdir(), 'ebbgate-test-'));

function mainJob(
  url: string,
  args: readonly string[],
): Promise<{ code: number | null; out: string; err: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MAIN, 'main-job', '--transport', url, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, TMPDIR: TEMPORARY },
    });
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
    child.once('error', reject);
    child.once('close', (code) => {
      resolve({ code, out, err });
    });
  });
}

describe('the main job over AMQP 1.0, each host and the conductor a process', function () {
  this.timeout(60_000);

  after(() => {
    rmSync(TEMPORARY, { recursive: true });
  });

  it('holds all invariants with a real SIGTERM to both hosts, and leaves no fanout queue (GS-1, GS-2, GS-3, GS-5, GS-6, GS-8, GS-9, GS-72, GS-73, GS-74, GS-75, GS-101, AMQP-37)', async () => {
    const url = direct.replace('rabbit:', 'amqp10:');
    const { code, out, err } = await mainJob(url, ['--drain', 'both', ...SHORT]);
    expect(err).to.equal('');
    expect(code, out).to.equal(0);
    for (const host of ['compute-a', 'compute-b']) {
      expect(out).to.contain(`new-request compute.${host} STOPPED, ops compute-ops.${host} serves`);
      expect(out).to.contain(`build_and_run_instance waits in the queue compute.${host}`);
      expect(out).to.contain(`${host}: exits with 0 (clean)`);
    }
    expect(out).to.contain('All invariants hold').and.not.contain('✗');
    await eventually('all connections are closed', 10_000, async () => {
      return (await rabbit.view.connections(vhost)).length === 0;
    });
    const names = (await rabbit.view.queues(vhost)).map(({ name }) => name);
    expect(names.filter((name) => name.includes('_fanout_'))).to.deep.equal([]);
    expect(names).to.include('compute.compute-a');
  });
});

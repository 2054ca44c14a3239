import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
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
/** Where the jobs keep their guests: one that is killed leaves them behind. */
const TEMPORARY = mkdtempSync(join(tmpdir(), 'ebbgate-test-'));

interface Run {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs the main job on a virtual host; sends it a signal as soon as it has printed a text. */
function mainJob(
  url: string,
  args: readonly string[],
  kill?: { readonly at: string; readonly by: NodeJS.Signals },
): Promise<Run> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MAIN, 'main-job', '--transport', url, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, TMPDIR: TEMPORARY },
    });
    let out = '';
    let err = '';
    let killed = false;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
      if (killed || !kill || !out.includes(kill.at)) return;
      killed = true;
      child.kill(kill.by);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
    child.once('error', reject);
    child.once('close', (code) => {
      resolve({ code, out, err });
    });
  });
}

/** Resolves when nobody is connected to the virtual host any more: all processes have ended. */
async function deserted(url: string): Promise<void> {
  const vhost = new URL(url).pathname.slice(1);
  await eventually('all connections are closed', 10_000, async () => {
    return (await rabbit.view.connections(vhost)).length === 0;
  });
}

describe('the main job over RabbitMQ, each host and the conductor a process', function () {
  this.timeout(40_000);

  after(() => {
    rmSync(TEMPORARY, { recursive: true });
  });

  for (const [drain, hosts] of [
    ['source', ['compute-a']],
    ['dest', ['compute-b']],
    ['both', ['compute-a', 'compute-b']],
  ] as const) {
    it(`holds all invariants with a real SIGTERM to ${drain} (GS-1, GS-2, GS-3, GS-5, GS-6, GS-8, GS-9, GS-72, GS-73, GS-74, GS-75, GS-101)`, async () => {
      const url = await rabbit.vhost();
      const { code, out, err } = await mainJob(url, ['--drain', drain, ...SHORT]);
      expect(err).to.equal('');
      expect(code, out).to.equal(0);
      for (const host of hosts) {
        expect(out).to.contain(`new-request compute.${host} STOPPED, ops compute-ops.${host} serves`);
        expect(out).to.match(new RegExp(`${host}: \\d tasks? left: `));
        expect(out).to.contain(`build_and_run_instance waits in the queue compute.${host}`);
        expect(out).to.contain(`${host}: exits with 0 (clean)`);
      }
      expect(out).to.match(/external_instance_event arrives on compute-ops\./);
      expect(out).to.contain('All invariants hold').and.not.contain('✗');
      await deserted(url);
    });
  }

  it('shows what happens without ops servers, exits with 1, and leaves nothing that harms the next run (GS-4)', async () => {
    const url = await rabbit.vhost();
    const { code, out } = await mainJob(url, ['--drain', 'dest', '--no-ops-server', ...SHORT]);
    expect(code, out).to.equal(1);
    expect(out).to.contain('post_live_migration_at_destination waits in the queue compute.compute-b');
    expect(out).to.contain('✗ Every live migration that had begun is completed');
    expect(out).to.contain('✗ Every build that had begun is complete');
    expect(out).to.contain('✓ Every boot asked for meanwhile was built after the restart');
    expect(out).to.contain('The invariants do NOT hold.');
    const again = await mainJob(url, SHORT);
    expect(again.code, again.out).to.equal(0);
  });

  it('ends its processes when it gets SIGINT, and says so (COMP-20)', async () => {
    const url = await rabbit.vhost();
    const { code, out, err } = await mainJob(url, ['--migration-ms', '2000'], {
      at: 'SIGTERM to compute-a',
      by: 'SIGINT',
    });
    expect(code, out).to.equal(130);
    expect(err).to.equal('');
    expect(out.trimEnd()).to.match(/Ended by SIGINT before there was a verdict$/);
    expect(readdirSync(TEMPORARY)).to.deep.equal([]);
    await deserted(url);
  });

  it('leaves no process behind when it is killed', async () => {
    const url = await rabbit.vhost();
    const { code } = await mainJob(url, ['--migration-ms', '60000'], {
      at: 'Live migration to',
      by: 'SIGKILL',
    });
    expect(code).to.equal(null);
    await deserted(url);
  });

  it('says in words that the broker refuses it, with exit code 1 and without the password', async () => {
    const url = (await rabbit.vhost()).replace(`:${rabbit.password}@`, ':wr0ng@');
    const { code, out, err } = await mainJob(url, SHORT);
    expect(code).to.equal(1);
    expect(err).to.match(/^error: conductor-1 has died: exit code 1\n.*ACCESS_REFUSED/);
    expect(out + err).to.not.contain('wr0ng');
  });
});

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { describe, it } from 'mocha';

const MAIN = fileURLToPath(new URL('../../../packages/compute/dist/main.js', import.meta.url));
const SHORT = ['--migration-ms', '200', '--boot-ms', '40'];
/** Of the databases the only one that needs nothing native: these tests run on all versions of Node. */
const IN_MEMORY = ['--database', 'memory:'];

interface Run {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function run(command: string, ...flags: string[]): Promise<Run> {
  const args = [command, ...(command === 'main-job' ? IN_MEMORY : []), ...flags];
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
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

interface Interrupted {
  readonly exit: { readonly code: number | null; readonly signal: NodeJS.Signals | null };
  readonly out: string;
  readonly err: string;
  readonly tookMs: number;
}

/** Sends the signal as soon as that text is printed. */
function interrupted(moment: string, signal: NodeJS.Signals): Promise<Interrupted> {
  return new Promise((resolve, reject) => {
    const args = [MAIN, 'main-job', '--migration-ms', moment.startsWith('SIGTERM') ? '3000' : '60000'];
    const child = spawn(process.execPath, [...args, '--boot-ms', '40', ...IN_MEMORY], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    let err = '';
    let sentAt: number | undefined;
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
      if (sentAt !== undefined || !out.includes(moment)) return;
      sentAt = performance.now();
      child.kill(signal);
    });
    child.once('error', reject);
    child.once('close', (code, by) => {
      resolve({ exit: { code, signal: by }, out, err, tookMs: performance.now() - (sentAt ?? 0) });
    });
  });
}

describe('the main job', function () {
  this.timeout(30_000);

  for (const [drain, hosts] of [
    ['source', ['compute-a']],
    ['dest', ['compute-b']],
    ['both', ['compute-a', 'compute-b']],
  ] as const) {
    it(`holds all invariants with SIGTERM to ${drain}, and says so (GS-5, GS-6, GS-8, GS-9)`, async () => {
      const { code, out, err } = await run('main-job', '--drain', drain, ...SHORT);
      expect(err).to.equal('');
      expect(code, out).to.equal(0);
      expect(out).to.contain('build_and_run_instance 6.0, live_migration 6.0');
      for (const host of hosts) {
        expect(out).to.contain(`new-request compute.${host} STOPPED, ops compute-ops.${host} serves`);
        expect(out).to.match(new RegExp(`${host}: \\d tasks? left: `));
        expect(out).to.contain(`build_and_run_instance waits in the queue compute.${host}`);
        expect(out).to.contain(`external_instance_event arrives on compute-ops.${host}`);
        expect(out).to.contain(`Starting ${host} again`);
      }
      if (drain !== 'source')
        expect(out).to.contain('post_live_migration_at_destination arrives on compute-ops.compute-b');
      expect(out).to.match(/running, 40 % copied/);
      expect(out).to.not.contain('✗');
      expect(out.trimEnd().split('\n').at(-1)).to.match(/^All invariants hold/);
      expect(out).to.not.contain(String.fromCharCode(27)); // no control characters off a terminal
    });

    it(`breaks them without ops servers, with SIGTERM to ${drain}, and exits with 1 (GS-4)`, async () => {
      const { code, out } = await run('main-job', '--no-ops-server', '--drain', drain, ...SHORT);
      expect(code, out).to.equal(1);
      expect(out).to.contain('external_instance_event waits in the queue compute.');
      expect(out).to.contain('✗ Every build that had begun is complete');
      if (drain !== 'source') {
        expect(out).to.contain('post_live_migration_at_destination waits in the queue compute.compute-b');
        expect(out).to.contain('✗ Every live migration that had begun is completed');
      }
      expect(out).to.contain('✓ Every boot asked for meanwhile was built after the restart');
      expect(out).to.contain('The invariants do NOT hold.');
    });
  }

  it('takes several hosts and instances', async () => {
    const { code, out } = await run(
      'main-job',
      '--hosts',
      '3',
      '--instances',
      '3',
      '--drain',
      'both',
      ...SHORT,
    );
    expect(code, out).to.equal(0);
    expect(out).to.contain('compute-c: runs');
    expect(out.match(/migration compute-a -> compute-b completed/g)).to.have.length(3);
  });

  it('ends quietly, with 141, when nobody reads its output any more', async () => {
    const child = spawn(process.execPath, [MAIN, 'main-job', ...IN_MEMORY, ...SHORT], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let err = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
    child.stdout.once('data', () => child.stdout.destroy());
    const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
    expect(err).to.equal('');
    expect(code).to.equal(141);
  });

  it('prints one JSON object a line with --json, the verdict last, and no secret', async () => {
    const { code, out } = await run('main-job', '--json', ...SHORT);
    expect(code).to.equal(0);
    const events = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { kind: string; holds?: boolean });
    expect(events.at(-1)).to.include({ kind: 'verdict', holds: true });
    expect(new Set(events.map(({ kind }) => kind))).to.include.all.keys(
      'note',
      'host',
      'request',
      'instance',
      'migration',
      'exit',
      'waiting',
    );
    expect(out).to.not.contain('secret');
  });

  for (const [what, args, message] of [
    ['a wrong choice', ['--drain', 'neither'], /--drain must be source, dest or both/],
    ['a number that is none', ['--hosts', 'many'], /--hosts must be a number/],
    ['too few hosts', ['--hosts', '1'], /--hosts must be at least 2/],
    ['a part of a host', ['--instances', '1.5'], /--instances must be a whole number/],
    ['an unknown flag', ['--fast'], /unknown option '--fast'/],
    ['a transport without a driver', ['--transport', 'nosuch://broker/'], /nosuch/],
  ] as const) {
    it(`refuses ${what} with exit code 2, and says what is wrong`, async () => {
      const { code, out, err } = await run('main-job', ...args);
      expect(code).to.equal(2);
      expect(err).to.match(message);
      expect(out).to.not.contain('Verdict');
    });
  }

  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    it(`ends at ${signal} with a word and exit code ${code}, before or during a drain (COMP-20)`, async () => {
      for (const moment of ['Live migration to', 'SIGTERM to compute-a']) {
        const { exit, out, err, tookMs } = await interrupted(moment, signal);
        expect(exit, out).to.deep.equal({ code, signal: null });
        expect(out.trimEnd().split('\n').at(-1)).to.match(
          new RegExp(`Ended by ${signal} before there was a verdict$`),
        );
        expect(out).to.not.contain('Verdict');
        expect(err).to.equal('');
        expect(tookMs).to.be.below(10_000); // of the 60 s that the migration takes
      }
    });
  }

  it('prints the table of methods, and help', async () => {
    const methods = await run('methods');
    expect(methods.code).to.equal(0);
    expect(methods.out).to.match(/^post_live_migration_at_destination +long-call +compute-ops /m);
    const help = await run('main-job', '--help');
    expect(help.code).to.equal(0);
    expect(help.out).to.contain('--no-ops-server').and.contain('Exit code');
  });
});

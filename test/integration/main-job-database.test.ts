import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { sharedPostgres } from '../support/rigs/shared-postgres.js';

const MAIN = fileURLToPath(new URL('../../../packages/compute/dist/main.js', import.meta.url));
const SHORT = ['--migration-ms', '200', '--boot-ms', '40'];
const postgres = await sharedPostgres();
let folder = '';

interface Run {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function run(args: readonly string[], signalAt?: string): Promise<Run> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MAIN, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, TMPDIR: folder },
      cwd: folder,
    });
    let out = '';
    let err = '';
    let signalled = false;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
      if (signalled || signalAt === undefined || !out.includes(signalAt)) return;
      signalled = true; // a second one would end it at once
      child.kill('SIGTERM');
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
    child.once('error', reject);
    child.once('close', (code) => {
      resolve({ code, out, err });
    });
  });
}

describe('the main job on a database', function () {
  this.timeout(60_000);

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ebbgate-test-'));
  });

  after(async () => {
    await rm(folder, { recursive: true });
  });

  it('has its records in a SQLite file by default, which is gone afterwards', async () => {
    const { code, out, err } = await run(['main-job', ...SHORT]);
    expect([code, err], out).to.deep.equal([0, '']);
    expect(out)
      .to.contain('Records: SQLite, in a file of their own')
      .and.to.match(/All invariants hold/);
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('leaves no file either when it is ended', async () => {
    const ended = await run(['main-job', '--migration-ms', '60000', '--boot-ms', '40'], 'Live migration to');
    expect([ended.code, ended.err], ended.out).to.deep.equal([143, '']);
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('runs again and again on one database, be it a file or a server', async () => {
    for (const url of ['sqlite:///jobs.sqlite', await postgres.database()]) {
      for (let time = 0; time < 2; time += 1) {
        const { code, out, err } = await run(['main-job', '--database', url, ...SHORT]);
        expect([code, err], out).to.deep.equal([0, '']);
        expect(out).to.not.contain(encodeURIComponent(postgres.password));
      }
    }
  });

  it('says in one line what is wrong with a database, without its password, or with a folder, and exits', async () => {
    for (const [args, code, text] of [
      [
        ['main-job', '--database', 'mysql://u:hunter2@h/n'],
        2,
        /^error: The database URL .* mysql: is not known/,
      ],
      [['main-job', '--database', postgres.url('none')], 1, /^error: .*database "none" does not exist\n$/],
      [
        ['conductor', '--transport', 'amqp://h', '--database', 'sqlite:///no/x'],
        2,
        /^error: .*there is no folder/,
      ],
      [
        ['conductor', '--transport', 'amqp://h', '--database', 'memory:', '--records', 'rpc'],
        2,
        /give one of them/,
      ],
      [
        ['conductor', '--transport', 'amqp://h', '--state-dir', '/dev/null/x'],
        2,
        /^error: The folder \/dev\/null\/x of the database cannot be made: give --database or --state-dir\n$/,
      ],
      [
        ['compute', '--transport', 'amqp://h', '--host', 'a', '--state-dir', '/dev/null/x'],
        2,
        /^error: The folder \/dev\/null\/x of the guests cannot be made: give --state-dir$/m,
      ],
      [
        ['compute', '--transport', 'amqp://h', '--host', 'null', '--state-dir', '/dev'],
        1,
        /^error: ENOTDIR: not a directory, mkdir '\/dev\/null\/guests'$/m,
      ],
    ] as const) {
      const ended = await run(args);
      expect(ended.err).to.match(text);
      expect(ended.code, ended.err).to.equal(code);
      expect(`${ended.out}${ended.err}`).to.not.contain('hunter2');
      expect(`${ended.out}${ended.err}`).to.not.contain(encodeURIComponent(postgres.password));
    }
  });
});

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { after, describe, it } from 'mocha';
import { CliProcess, runEbbgate } from '../support/cli-process.js';
import { DaemonProcess } from '../support/daemon-process.js';
import { OperatorCli } from '../support/operator-cli.js';
import { NatsServer } from '../support/rigs/nats.js';

const DRIVER = join(process.cwd(), 'build/examples/driver-nats/driver.js');
const WORK = join(import.meta.dirname, '../support/fixtures/cli-work.js');
const server = await NatsServer.start();

describe('a driver that nobody here knows, named by --driver', function () {
  this.timeout(30_000);

  after(() => server.dispose());

  it('serves and calls by the ebbgate command over NATS, and tells that nobody is there', async () => {
    const at = ['--url', server.url, '--driver', DRIVER, '--topic', 'demo'];
    const served = new CliProcess(['serve', '--json', ...at, '--server', 's1', '--endpoints', WORK]);
    await served.event('listening');
    const [called, nobody] = await Promise.all([
      runEbbgate(['call', ...at, '--server', 's1', 'quick', '{"id": 1}']),
      runEbbgate(['call', ...at, '--server', 's2', 'quick', '{"id": 2}']),
    ]);
    expect([called.code, called.stdout], called.stderr).to.deep.equal([0, '"s1"\n']);
    expect(nobody.code, nobody.stderr).to.equal(11);
    served.child.kill('SIGTERM');
    expect((await served.ended).code).to.equal(0);
  });

  it('carries a conductor and what its operator asks, from ebbgate-compute', async () => {
    const conductor = new DaemonProcess(server.url, [
      'conductor',
      '--database',
      'memory:',
      '--driver',
      DRIVER,
    ]);
    await conductor.serves();
    const operator = new OperatorCli({ EBBGATE_URL: server.url, EBBGATE_DRIVER: DRIVER });
    const asked = await operator.run(['host', 'list']).finally(() => conductor.child.kill('SIGTERM'));
    expect([asked.code, asked.err]).to.deep.equal([0, '']);
    expect(asked.out).to.match(/^HOST /);
    expect((await conductor.ended).code, conductor.log).to.equal(0);
  });

  it('carries the main job, each host and the conductor a process (GS-2, GS-5)', async () => {
    const over = ['--transport', server.url, '--driver', DRIVER];
    const job = await new OperatorCli({}).run([
      'main-job',
      ...over,
      '--migration-ms',
      '500',
      '--boot-ms',
      '40',
    ]);
    expect([job.code, job.err], job.out).to.deep.equal([0, '']);
    expect(job.out).to.contain('All invariants hold');
  });

  it('says which module is not there, cannot be loaded, has no driver, or has two for one scheme, and exits with 2', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ebbgate-test-'));
    const [broken, empty, twice] = ['broken.mjs', 'empty.mjs', 'twice.mjs'].map((name) => join(folder, name));
    const driver = (name: string): string => `{ name: '${name}', schemes: ['nats'], create() {} }`;
    await writeFile(broken ?? '', 'throw new Error("it is broken");');
    await writeFile(empty ?? '', 'export const nothing = 1;');
    await writeFile(
      twice ?? '',
      `export const a = ${driver('first')}; export const b = ${driver('second')};`,
    );
    const operator = new OperatorCli({ EBBGATE_URL: server.url });
    try {
      for (const [module = '', words] of [
        ['./absent.mjs', /absent\.mjs/],
        [broken, /broken\.mjs cannot be loaded.*it is broken/],
        [empty, /empty\.mjs exports no driver.*nothing/],
        [twice, /first and second, serve the scheme "nats"/],
      ] as const) {
        const flags = ['--driver', module];
        const [cli, daemon] = await Promise.all([
          runEbbgate(['call', '--url', server.url, '--topic', 'demo', ...flags, 'echo']),
          operator.run(['conductor', '--database', 'memory:', ...flags]),
        ]);
        expect([cli.code, daemon.code], daemon.err).to.deep.equal([2, 2]);
        for (const text of [cli.stderr, daemon.err]) expect(text).to.match(words);
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { DaemonProcess } from '../support/daemon-process.js';
import { OperatorCli } from '../support/operator-cli.js';
import { runCommand } from '../support/run-command.js';

const PAGE = join(process.cwd(), 'docs/services-api.md');
const MONITOR = fileURLToPath(new URL('../../examples/fault-monitor.js', import.meta.url));
const PROGRAM = fileURLToPath(new URL('../../../packages/compute/dist/main.js', import.meta.url));

describe('examples: the fault monitor', function () {
  this.timeout(120_000); // each command is a process

  it('says how it is started when an argument or a command is missing', async () => {
    for (const given of [
      ['FENCE=true', 'REPAIR=true', process.execPath, MONITOR],
      ['FENCE=true', 'REPAIR=true', process.execPath, MONITOR, 'http://127.0.0.1:1'],
      ['FENCE=true', process.execPath, MONITOR, 'http://127.0.0.1:1', 'a'],
    ]) {
      const { code, stdout, stderr } = await runCommand('env', given, '/');
      expect([code, stdout], given.join(' ')).to.deep.equal([2, '']);
      expect(stderr)
        .to.match(/^Usage: node fault-monitor\.js URL HOST\n/)
        .and.contain('FENCE=');
    }
  });

  it('brings back a host of an all-in-one that was killed, by the commands of the page (FD-6)', async () => {
    const [, fence = '', repair = ''] =
      /FENCE='npx ebbgate-compute ([^']+)' REPAIR='npx ebbgate-compute ([^']+)'/.exec(
        readFileSync(PAGE, 'utf8'),
      ) ?? [];
    const folder = mkdtempSync(join(tmpdir(), 'ebbgate-test-'));
    const control = join(folder, 'c.sock');
    const cli = new OperatorCli({ EBBGATE_CONTROL: control });
    const where = ['--listen', '127.0.0.1:0', '--control', control, '--database', 'memory:'];
    const cloud = new DaemonProcess('', ['all-in-one', '--hosts', 'a,b', ...where, '--boot-ms', '20']);
    try {
      const listens = await cloud.event(({ kind }) => kind === 'listens');
      await cloud.event(({ kind }) => kind === 'serves');
      await cli.ok('instance', 'boot', 'vm1', '--host', 'a', '--wait');
      await cli.ok('host', 'kill', 'a'); // it is off already when it is fenced
      const url = `http://127.0.0.1:${listens.kind === 'listens' ? listens.port : 0}`;
      const program = `${process.execPath} ${PROGRAM}`;
      const commands = [`FENCE=${program} ${fence}`, `REPAIR=${program} ${repair}`];
      const given = [...commands, `EBBGATE_CONTROL=${control}`, 'LOOK_MS=50'];
      const { code, stdout, stderr } = await runCommand(
        'env',
        [...given, process.execPath, MONITOR, url, 'a'],
        '/',
      );
      expect([code, stderr], stdout).to.deep.equal([0, '']);
      expect(stdout)
        .to.contain('a is dead\n')
        .and.contain('a serves\n')
        .and.match(/a is back\n$/);
      expect(await cli.ok('instance', 'list')).to.match(/vm1 +active +- +b /);
      expect(await cli.ok('host', 'list')).to.match(/^a +up /m);
    } finally {
      cloud.child.kill('SIGKILL');
      await cloud.ended;
      rmSync(folder, { recursive: true });
    }
  });
});

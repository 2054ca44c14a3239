import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { after, afterEach, before, describe, it } from 'mocha';
import type { WorkerPlan } from '../fixtures/processes/worker.js';
import { TestProcess } from '../support/processes.js';
import { eventually } from '../support/rigs/deadline.js';
import { NotifySocket } from '../support/rigs/notify-socket.js';
import { runCommand } from '../support/run-command.js';

const WORKER = fileURLToPath(new URL('../fixtures/processes/worker.js', import.meta.url));
const COMPUTE = fileURLToPath(new URL('../../../packages/compute/dist/main.js', import.meta.url));
const UNIT = fileURLToPath(new URL('../../../deploy/systemd/ebbgate-compute.service', import.meta.url));
const MORE_TIME = 'EXTEND_TIMEOUT_USEC=30000000';

describe('systemd, with', function () {
  this.timeout(30_000);
  let systemd: NotifySocket;

  before(async function () {
    this.timeout(120_000); // a package may have to be installed
    systemd = await NotifySocket.open();
  });
  afterEach(() => void systemd.words.splice(0));
  after(() => systemd.dispose());

  const told = (word: string): Promise<unknown> =>
    eventually(`"${word}" is told`, 10_000, () => systemd.words.some((one) => one.startsWith(word)));

  it('a service, is told that it serves, that it stops, what it waits for, and that it needs more time (GS-7)', async () => {
    const plan: WorkerPlan = { tasks: 1 };
    const process = new TestProcess(WORKER, [JSON.stringify(plan)], systemd.env);
    await told('STATUS=Serving');
    expect(systemd.words).to.include('READY=1').and.not.include('STOPPING=1');
    process.signal('SIGTERM');
    await told('STATUS=Draining: tasks, 1 tasks run, 180 s left at most');
    const since = systemd.words.slice(systemd.words.indexOf('STOPPING=1'));
    expect(since).to.include(MORE_TIME);
    process.write('end\n');
    expect(await process.ended).to.deep.equal({ code: 0, signal: null });
  });

  it('the unit in deploy/systemd, finds nothing wrong', async () => {
    const found = await runCommand('systemd-analyze', ['verify', UNIT], tmpdir());
    expect(found).to.deep.equal({ code: 0, stdout: '', stderr: '' });
  });

  it('a program of several parts, is told when all of them serve, and how many have ended', async () => {
    const argv = ['all-in-one', '--hosts', 'a', '--database', 'memory:', '--listen', '127.0.0.1:0'];
    const process = new TestProcess(COMPUTE, argv, systemd.env);
    await told('READY=1');
    expect(systemd.words.filter((word) => word.startsWith('READY'))).to.have.length(1);
    process.signal('SIGTERM');
    await told('STOPPING=1');
    expect(await process.ended).to.deep.equal({ code: 0, signal: null });
    expect(systemd.words.join()).to.match(
      /STATUS=Starting \d parts.*READY=1,STATUS=\d parts serve.*STATUS=Draining: /,
    );
  });
});

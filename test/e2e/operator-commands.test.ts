import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { overControl } from '#compute/main/control-client.js';
import { OperatorCli, type Said } from '../support/operator-cli.js';
import { DaemonProcess } from '../support/daemon-process.js';

const FOLDER = mkdtempSync(join(tmpdir(), 'ebbgate-test-'));
const CONTROL = join(FOLDER, 'c.sock');
const TIMES = ['--boot-ms', '20', '--migration-ms', '300'];
const cli = new OperatorCli({ EBBGATE_CONTROL: CONTROL });

/** A command as it comes out of the socket, without the process of the operator. */
async function typed(argv: readonly string[]): Promise<Said> {
  let out = '';
  let err = '';
  const code = await overControl(CONTROL, argv, {
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    screen: undefined,
    signal: new AbortController().signal,
  });
  return { code, out, err };
}

describe('the commands of an operator, to an all-in-one in memory', function () {
  this.timeout(30_000);
  let cloud: DaemonProcess;

  before(async () => {
    const argv = ['all-in-one', '--hosts', 'a,b', '--control', CONTROL, ...TIMES];
    cloud = new DaemonProcess('', argv, { limitMs: 300_000 });
    await cloud.event(({ kind }) => kind === 'serves');
  });

  after(async () => {
    cloud.child.kill('SIGKILL');
    await cloud.ended;
    rmSync(FOLDER, { recursive: true });
  });

  it('reach it by a socket that nobody but its user may write to', () => {
    expect(statSync(CONTROL).mode & 0o777).to.equal(0o600);
  });

  it('print what has become of the instance with --json, and follow it with --wait', async () => {
    const booted = JSON.parse(
      await cli.ok('instance', 'boot', 'vm1', '--host', 'a', '--wait', '--json'),
    ) as object;
    expect(booted).to.deep.include({
      name: 'vm1',
      host: 'a',
      vm_state: 'active',
      task_state: null,
      flavor: 'm1.tiny',
    });
    const moved = JSON.parse(await cli.ok('instance', 'live-migrate', 'vm1', '--wait', '--json')) as {
      host: string;
      migration: object;
    };
    expect(moved.host).to.equal('b');
    expect(moved.migration).to.include({
      type: 'live-migration',
      status: 'completed',
      source: 'a',
      dest: 'b',
      progress: 1,
    });
    const [first] = JSON.parse(await cli.ok('instance', 'list', '--json')) as object[];
    expect(first).to.include({ name: 'vm1', host: 'b' });
  });

  it('fail with --wait when nothing comes of it, and say what the instance is instead', async () => {
    await cli.ok('host', 'set', 'a', '--disable', '--disable-reason', 'its fan is loud');
    expect(await cli.ok('host', 'list')).to.match(/^a +disabled \(its fan is loud\) /m);
    const nowhere = await cli.run(['instance', 'live-migrate', 'vm1', '--wait']);
    expect(nowhere.code, nowhere.out).to.equal(1);
    expect(nowhere.err).to.match(
      /^error: What was asked for ended in error \(success is completed\): vm1 is active at b\. /,
    );
    await cli.ok('host', 'set', 'a', '--enable');
    const huge = await cli.run(['instance', 'boot', 'huge', '--flavor', '9999:1:1', '--wait']);
    expect(huge.code).to.equal(1);
    expect(huge.err).to.match(/^error: huge is error at no host, and should be active\. /);
    await cli.ok('instance', 'delete', 'huge', '--wait');
  });

  it('hold a guest and let it go, put it away and bring it back, and give it something', async () => {
    const after = async (command: string): Promise<unknown> => {
      const { out, err } = await typed(['instance', command, 'vm1', '--wait', '--json']);
      expect(err).to.equal('');
      return (JSON.parse(out) as { readonly vm_state: string }).vm_state;
    };
    for (const [command, state] of [
      ['pause', 'paused'],
      ['unpause', 'active'],
      ['suspend', 'suspended'],
      ['resume', 'active'],
      ['rescue', 'rescued'],
      ['unrescue', 'active'],
      ['shelve', 'shelved_offloaded'],
      ['unshelve', 'active'],
    ] as const) {
      expect(await after(command), command).to.equal(state);
    }
    expect((await typed(['instance', 'set-password', 'vm1'])).out).to.match(
      /^vm1 has another password: [\w-]{16}\n$/,
    );
    const volume = await typed(['instance', 'add-volume', 'vm1', '--volume', 'v1']);
    expect(volume.out).to.equal('vm1 gets a volume: /dev/vdb\n');
    expect((await typed(['instance', 'add-volume', 'vm1'])).err).to.match(/--volume must be given/);
    const validate = (port: string): Promise<Said> =>
      typed(['instance', 'console-validate', 'vm1', '--port', port]);
    expect(await validate('5900')).to.include({
      code: 0,
      out: 'A novnc console of vm1 listens at port 5900\n',
    });
    expect(await validate('1')).to.include({
      code: 1,
      err: 'error: No novnc console of vm1 listens at port 1\n',
    });
    const refused = await typed(['instance', 'unpause', 'vm1']);
    expect(refused.err).to.equal('error: Cannot unpause vm1: vm_state is active, and must be paused\n');
    await typed(['instance', 'live-migrate', 'vm1', '--host', 'b', '--wait']); // refused when it is there
  });

  it('end and start a host; it is not up again before it has removed what was evacuated (COMP-13)', async () => {
    expect(await cli.ok('host', 'kill', 'b')).to.equal('b is dead\n');
    expect(await typed(['host', 'kill', 'b'])).to.include({ code: 0, out: 'b is dead\n' }); // as a fence has to
    expect((await cli.run(['host', 'drain', 'b'])).err).to.equal(
      'error: b does not run: start it with host start b\n',
    );
    await cli.ok('instance', 'evacuate', 'vm1', '--wait');
    expect((await cli.run(['host', 'set', 'b', '--up'])).err).to.match(
      /^error: 1 instance was evacuated from b, and not/,
    );
    expect(await cli.ok('host', 'start', 'b')).to.equal('b serves\n');
    expect(await cli.ok('host', 'list')).to.match(/^b +up +- +0 +0\/256 /m);
    expect(await cli.ok('host', 'drain', 'b')).to.equal('b has ended with 0\n');
    expect(await cli.ok('host', 'list')).to.match(/^b +down /m);
    await cli.ok('host', 'start', 'b');
  });

  it('evacuate a whole host that is dead, and say how each instance does; who has said that it is dead is kept (FD-6)', async () => {
    await typed(['instance', 'boot', 'lost1', '--host', 'b', '--wait']);
    await typed(['instance', 'boot', 'lost2', '--host', 'b', '--wait']);
    expect((await typed(['host', 'evacuate', 'b'])).err).to.equal(
      'error: Compute service of b is still in use\n',
    );
    await cli.ok('host', 'kill', 'b');
    await typed(['host', 'set', 'b', '--down', '--down-reason', 'its fan is silent']);
    expect(await cli.ok('host', 'list')).to.match(/^b +forced down \(its fan is silent\) /m);
    const [, b] = JSON.parse(await cli.ok('host', 'list', '--json')) as readonly { forced_down: object }[];
    expect(b?.forced_down).to.include({ by: 'operator', reason: 'its fan is silent' });
    await typed(['instance', 'pause', 'vm1', '--wait']); // it is on the other one
    const { code, out, err } = await typed(['host', 'evacuate', 'b', '--parallel', '1', '--host', 'a']);
    expect([code, err], out).to.deep.equal([0, '']);
    for (const line of [
      /^lost1 {2}waiting$/m,
      /^lost1 {2}evacuated {2}b -> a done$/m,
      /^lost2 {2}evacuated/m,
    ])
      expect(out).to.match(line);
    expect(out).to.match(/^b: 2 of 2 instances are evacuated\n$/m);
    const again = JSON.parse((await typed(['host', 'evacuate', 'b', '--json'])).out) as object;
    expect(again).to.include({ host: 'b', evacuated: 2, waiting: 0, failed: 0 });
    await cli.ok('host', 'start', 'b');
    await typed(['instance', 'unpause', 'vm1', '--wait']);
    for (const name of ['lost1', 'lost2']) await typed(['instance', 'delete', name, '--wait']);
  });

  for (const [what, argv, code, message] of [
    [
      'too many at a time',
      ['host', 'evacuate', 'a', '--parallel', '101'],
      2,
      '--parallel is "101", and must be a number from 1 to 100',
    ],
    [
      'a reason for nothing',
      ['host', 'set', 'a', '--up', '--down-reason', 'x'],
      2,
      '--down-reason is given without --down, for which it is',
    ],
    [
      'an instance that there is not',
      ['instance', 'stop', 'vm9'],
      1,
      'There is no instance called vm9; there is vm1',
    ],
    [
      'a host that there is not',
      ['instance', 'live-migrate', 'vm1', '--host', 'z'],
      1,
      '--host: There is no host z; there are a, b',
    ],
    [
      'an instance in another state',
      ['instance', 'start', 'vm1'],
      1,
      'Cannot start vm1: vm_state is active, and must be stopped',
    ],
    [
      'to confirm what was not resized',
      ['instance', 'confirm', 'vm1'],
      1,
      'Cannot confirm vm1: vm_state is active, and must be resized',
    ],
    [
      'to abort what is not moved',
      ['instance', 'abort', 'vm1'],
      1,
      'Cannot abort vm1: No live migration of vm1 is queued or preparing or running',
    ],
    [
      'the size that it has',
      ['instance', 'resize', 'vm1', '--flavor', 'm1.tiny'],
      2,
      '--flavor is "m1.tiny", which vm1 has: give another one, or move it with migrate',
    ],
    [
      'no size',
      ['instance', 'boot', 'x', '--flavor', '0:1:1'],
      2,
      '--flavor is "0:1:1", and must be m1.tiny, m1.small, m1.medium, m1.large, m1.xlarge, or VCPUS:MEMORY_MB:DISK_GB, as in 2:4096:40',
    ],
    [
      'a name that is none',
      ['instance', 'boot', '../x'],
      2,
      'The name is "../x", and must be letters, digits and characters of . _ -, at most 63, a letter or digit first',
    ],
    [
      'a hint that is none',
      ['instance', 'boot', 'x', '--hint', 'near'],
      2,
      '--hint is "near", and must be NAME=VALUE, as in same_host=ID',
    ],
    [
      'no time',
      ['instance', 'stop', 'vm1', '--wait', '--timeout', 'long'],
      2,
      '--timeout is "long", and must be a number from 0.1 to 1000000',
    ],
    [
      'half a line',
      ['instance', 'console', 'vm1', '--lines', '1.5'],
      2,
      '--lines is "1.5", and must be a whole number',
    ],
    ['nothing to set', ['host', 'set', 'a'], 2, 'Nothing to set: give --disable, --enable, --down or --up'],
    [
      'a contradiction',
      ['host', 'set', 'a', '--up', '--down'],
      2,
      '--down and --up are both given, and must not be',
    ],
  ] as const) {
    it(`refuse ${what} with exit code ${String(code)}, and say what would be right`, async () => {
      expect(await typed(argv)).to.deep.equal({ code, out: '', err: `error: ${message}\n` });
    });
  }

  it('say so themselves before anything is sent, when they are not as they should be', async () => {
    const nowhere = new OperatorCli({ EBBGATE_CONTROL: join(FOLDER, 'nobody') });
    for (const [argv, message] of [
      [['instance', 'boot', 'x', '--flavor', 'big'], /^error: --flavor is "big", and must be m1\.tiny/],
      [['instance', 'stop'], /^error: missing required argument 'instance'/],
      [['instance', 'freeze', 'x'], /^error: unknown command 'freeze'/],
      [
        ['host', 'list', '--rpc-response-timeout', '0'],
        /^error: --rpc-response-timeout must be at least 0\.1/,
      ],
      [['host', 'list', '--transport', 'nosuch://broker/'], /nosuch/],
    ] as const) {
      const { code, err } = await nowhere.run(argv);
      expect(err).to.match(message);
      expect(code, err).to.equal(2);
    }
  });

  it('say which of two instances of one name could be meant, and take its id', async () => {
    await cli.ok('instance', 'boot', 'twin', '--wait');
    await cli.ok('instance', 'boot', 'twin', '--wait');
    const { err } = await cli.run(['instance', 'stop', 'twin']);
    const [, id = ''] =
      /^error: 2 instances are called twin: give the id of one, of ([^,]+), /.exec(err) ?? [];
    expect(await cli.ok('instance', 'show', id)).to.match(/^name +twin$/m);
  });

  it('end with 130 at Ctrl-C, and the cloud goes on', async () => {
    const { code, out } = await cli.run(['instance', 'list', '--watch'], 'vm1: active');
    expect(code).to.equal(130);
    expect(out).to.match(/a: up/);
    expect(await cli.ok('host', 'list')).to.match(/^a +up /m);
  });

  it('find no other cloud on the socket of one that runs, and one in the place of one that was killed', async () => {
    const second = new DaemonProcess('', ['all-in-one', '--hosts', 'a', '--control', CONTROL]);
    expect((await second.ended).code).to.equal(2);
    expect(second.log).to.contain(`Another all-in-one listens at ${CONTROL}`);
    cloud.child.kill('SIGKILL');
    await cloud.ended;
    const gone = await cli.run(['instance', 'list']);
    expect(gone.code).to.equal(1);
    expect(gone.err).to.match(
      /^error: No cloud is there: nobody listens at .*\/c\.sock\. Start ebbgate-compute all-in-one/,
    );
    cloud = new DaemonProcess('', ['all-in-one', '--hosts', 'a', '--control', CONTROL]);
    await cloud.event(({ kind }) => kind === 'serves');
    expect(await cli.ok('host', 'list')).to.match(/^a +up /m);
    cloud.child.kill('SIGTERM');
    expect(await cloud.ended).to.deep.equal({ code: 0, signal: null });
    expect(() => statSync(CONTROL)).to.throw('ENOENT');
  });
});

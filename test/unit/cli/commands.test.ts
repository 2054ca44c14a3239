import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { Interruption } from '@ebbgate/cli';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { cli, Kept, objects } from './cli-run.js';

const fixtures = join(import.meta.dirname, '../../support/fixtures');
const OUTSIDE = ['--driver', join(fixtures, 'cli-driver.js'), '--url'];
const ENDPOINTS = ['--endpoints', join(fixtures, 'cli-endpoints.js')];
const ECHO = ['--topic', 'demo', '--serve-echo'];

function errorIn(stderr: string): Record<string, unknown> {
  const [line] = objects(stderr);
  return line?.['error'] as Record<string, unknown>;
}

describe('ebbgate call', () => {
  it('prints the result as JSON on stdout and nothing else', async () => {
    const ran = await cli(['call', ...ECHO, 'echo', '{"message": {"a": [1, null]}}']);
    expect(ran).to.deep.equal({ code: 0, stdout: '{\n  "a": [\n    1,\n    null\n  ]\n}\n', stderr: '' });
  });

  it('prints it on one line with --json', async () => {
    const ran = await cli(['call', ...ECHO, '--json', 'echo', '{"message": {"a": [1, null]}}']);
    expect(ran).to.deep.equal({ code: 0, stdout: '{"a":[1,null]}\n', stderr: '' });
  });

  it('prints integers of any size in full', async () => {
    const { stdout } = await cli(['call', ...ECHO, 'echo', '{"message": 123456789012345678901234567890}']);
    expect(stdout).to.equal('123456789012345678901234567890\n');
  });

  it('answers null for sink, and for echo without a message', async () => {
    expect((await cli(['call', ...ECHO, 'sink', '{"message": 1}'])).stdout).to.equal('null\n');
    expect((await cli(['call', ...ECHO, 'echo'])).stdout).to.equal('null\n');
  });

  it('serves the endpoints of a module, with namespace, version and context', async () => {
    const add = await cli(['call', '--topic', 't', ...ENDPOINTS, 'add', '{"a": 2, "b": 3}']);
    expect(add).to.deep.equal({ code: 0, stdout: '5\n', stderr: '' });
    const admin = ['call', '--topic', 't', ...ENDPOINTS, '--namespace', 'admin', '--rpc-version'];
    expect((await cli([...admin, '1.3', 'restart'])).stdout).to.equal('"restarted"\n');
    expect((await cli([...admin, '1.4', 'restart'])).code).to.equal(13);
    const values = await cli([
      'call',
      '--topic',
      't',
      ...ENDPOINTS,
      '--context',
      '{"request_id": "req-1"}',
      'context',
    ]);
    expect(JSON.parse(values.stdout)).to.include({ request_id: 'req-1' });
  });

  it('reads arguments from stdin', async () => {
    const stdin = Readable.from(['{"message": ', '"from stdin"}']);
    expect((await cli(['call', ...ECHO, 'echo', '-'], { stdin })).stdout).to.equal('"from stdin"\n');
  });

  it('tells of an error of the method on one line, which no text of it can break or colour (exit code 12)', async () => {
    const human = await cli(['call', '--topic', 't', ...ENDPOINTS, 'fail']);
    expect(human).to.deep.equal({
      code: 12,
      stdout: '',
      stderr: 'ebbgate call: Remote error: TypeError no such disk\\u001b[31m [ERR_REMOTE]\n',
    });
    const json = await cli(['call', '--topic', 't', '--json', ...ENDPOINTS, 'fail']);
    expect(json.code).to.equal(12);
    expect(errorIn(json.stderr)).to.include({ code: 'ERR_REMOTE', remoteType: 'TypeError', exitCode: 12 });
  });

  it('says that a method or version is not there (exit code 13)', async () => {
    const ran = await cli(['call', ...ECHO, '--json', 'absent']);
    expect(ran.code).to.equal(13);
    expect(errorIn(ran.stderr)).to.include({ code: 'ERR_NO_SUCH_METHOD', outcome: 'answered' });
    const other = await cli([
      'call',
      '--topic',
      't',
      ...ENDPOINTS,
      '--namespace',
      'admin',
      '--rpc-version',
      '2.0',
      'restart',
    ]);
    expect(other.code).to.equal(13);
  });

  it('says that no answer came in time, and that the request may have run (exit code 10)', async () => {
    const ran = await cli(['call', '--topic', 't', ...ENDPOINTS, '--timeout', '0.05', 'never']);
    expect(ran.code).to.equal(10);
    expect(ran.stderr).to.include('(the request may have run)').and.include('[ERR_TIMEOUT]');
  });

  it('says that nobody listens there (exit code 11)', async () => {
    const ran = await cli([
      'call',
      ...OUTSIDE,
      'outside://u:s3cret@h/',
      '--topic',
      'nobody',
      '--json',
      'echo',
    ]);
    expect(ran.code).to.equal(11);
    expect(errorIn(ran.stderr)).to.include({ code: 'ERR_UNDELIVERABLE', outcome: 'not-sent' });
    expect(ran.stderr).not.to.include('s3cret');
  });

  it('says that the credentials are refused, without them (exit code 15, SEC-04)', async () => {
    const ran = await cli(['call', ...OUTSIDE, 'denied://u:s3cret@h/', '--topic', 't', '--verbose', 'echo']);
    expect(ran.code).to.equal(15);
    expect(ran.stderr).to.include('[ERR_AUTHENTICATION]').and.not.include('s3cret');
  });

  it('takes the URL from the environment', async () => {
    const ran = await cli(['call', ...OUTSIDE.slice(0, 2), '--topic', 'nobody', 'echo'], {
      env: { EBBGATE_URL: 'outside:' },
    });
    expect(ran.code).to.equal(11);
  });

  it('ends when it is interrupted, with the code of the interruption', async () => {
    const interrupt = new AbortController();
    const running = cli(['call', '--topic', 't', ...ENDPOINTS, 'never'], { interrupted: interrupt.signal });
    interrupt.abort(new Interruption('Ended by SIGINT', 130));
    expect((await running).code).to.equal(130);
  });
});

describe('ebbgate cast', () => {
  it('prints nothing, or one object, when the message is sent and handled', async () => {
    expect(await cli(['cast', ...ECHO, 'sink'])).to.deep.equal({ code: 0, stdout: '', stderr: '' });
    expect((await cli(['cast', ...ECHO, '--json', 'sink'])).stdout).to.equal('{"sent":true}\n');
    expect((await cli(['cast', ...ECHO, '--fanout', 'sink'])).code).to.equal(0);
  });

  it('tells in the log what the method threw, as nobody is answered', async () => {
    const ran = await cli(['cast', '--topic', 't', ...ENDPOINTS, '--json', 'fail']);
    expect(ran.code).to.equal(0);
    expect(objects(ran.stderr)[0]).to.include({ log: 'error', method: 'fail' });
  });

  it('says when the server in the process did not handle it in time', async () => {
    const ran = await cli(['cast', '--topic', 't', ...ENDPOINTS, '--timeout', '0.05', 'never']);
    expect(ran.code).to.equal(10);
  });
});

describe('ebbgate ping', () => {
  it('prints a line for each answer and the totals', async () => {
    const ran = await cli(['ping', ...ECHO, '--count', '3', '--interval', '0', '--json']);
    const lines = objects(ran.stdout);
    expect(ran.code).to.equal(0);
    expect(lines.map(({ seq }) => seq)).to.deep.equal([1, 2, 3, undefined]);
    expect(lines[3]).to.deep.include({ sent: 3, answered: 3, lost: 0 });
    expect((lines[3]?.['rttMs'] as { max: number }).max).to.be.greaterThan(0);
    expect((await cli(['ping', ...ECHO, '--count', '1'])).stdout).to.match(
      /^ping 1: answered in .* ms\n1 sent, 1 answered, 0 not; min /,
    );
  });

  it('tells of pings that fail and goes on; the exit code is that of the last', async () => {
    const ran = await cli([
      'ping',
      ...OUTSIDE,
      'outside:',
      '--topic',
      'nobody',
      '--count',
      '2',
      '--interval',
      '0',
    ]);
    expect(ran.code).to.equal(11);
    expect(ran.stdout).to.match(/ping 1: .*ERR_UNDELIVERABLE.*\nping 2: .*\n2 sent, 0 answered, 2 not\n/);
  });

  it('ends in order when it is interrupted', async () => {
    const interrupt = new AbortController();
    const stdout = new PassThrough();
    let text = '';
    stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      interrupt.abort(new Interruption('Ended by SIGINT', 130));
    });
    const ran = await cli(['ping', ...ECHO, '--count', '0', '--interval', '600'], {
      stdout,
      interrupted: interrupt.signal,
    });
    expect(ran.code).to.equal(0);
    expect(text).to.include('1 sent, 1 answered, 0 not');
  });
});

describe('ebbgate bench', () => {
  it('brings its own server on memory: and reports as JSON', async () => {
    const ran = await cli(['bench', '--count', '500', '--concurrency', '8', '--warmup', '10', '--json']);
    const [report] = objects(ran.stdout);
    expect(ran.code).to.equal(0);
    expect(report).to.include({
      kind: 'call',
      concurrency: 8,
      sizeBytes: 100,
      done: 500,
      failed: 0,
      url: 'memory://',
    });
    expect(report?.['perSecond']).to.be.greaterThan(0);
    const { p50, p90, p99, max } = report?.['latencyMs'] as Record<string, number>;
    expect([p50, p90, p99, max]).to.deep.equal([p50, p90, p99, max].sort((a = 0, b = 0) => a - b));
  });

  it('measures casts, and keeps what is not handled within bounds', async () => {
    const ran = await cli(['bench', '--cast', '--count', '5000', '--warmup', '0']);
    expect(ran.code).to.equal(0);
    expect(ran.stdout).to.match(
      /^casts to memory:.*\n {2}\d+\/s {2}\(5000 in .* s\)\n {2}latency in ms: .*\n {2}failed: 0\n$/,
    );
  });

  it('ends after its duration', async () => {
    const [report] = objects((await cli(['bench', '--duration', '0.05', '--warmup', '0', '--json'])).stdout);
    expect(report?.['done']).to.be.greaterThan(0);
    expect(report?.['seconds']).to.be.at.least(0.05);
  });

  it('reports what was done until it was interrupted', async () => {
    const interrupt = new AbortController();
    const stderr = Object.assign(new Kept(), { isTTY: true });
    stderr.onText = () => interrupt.abort(new Interruption('Ended by SIGINT', 130)); // at the first sign of progress
    const argv = ['bench', '--duration', '600', '--warmup', '0'];
    const ran = await cli(argv, { stderr, interrupted: interrupt.signal });
    expect(ran.code).to.equal(130);
    expect(ran.stdout).to.match(/^calls to memory:.*\n {2}\d+\/s/);
  });

  it('does not begin when the first request fails', async () => {
    const ran = await cli(['bench', ...OUTSIDE, 'outside:', '--json']);
    expect(ran.code).to.equal(11);
    expect(ran.stdout).to.equal('');
  });
});

describe('the command line', () => {
  const wrong: readonly [string, string[], string][] = [
    [
      'an unknown option',
      ['call', '--topic', 't', '--tiemout', '1', 'echo'],
      'unknown option \'--tiemout\' (Did you mean --timeout?); see "ebbgate call --help"',
    ],
    ['an unknown command', ['cal'], 'Did you mean call?'],
    ['no topic', ['call', 'echo'], "'--topic <name>' not specified"],
    ['no method', ['call', '--topic', 't'], "missing required argument 'method'"],
    ['a time with a unit', ['call', '--topic', 't', '--timeout', '5s', 'echo'], 'without a unit'],
    ['arguments that are no JSON', ['call', ...ECHO, 'echo', '{message: 1}'], 'line 1, column 2'],
    [
      'a context that is no object',
      ['call', ...ECHO, '--context', '[]', 'echo'],
      '--context must be a JSON object',
    ],
    ['a URL that is none', ['call', '--url', 'nonsense', '--topic', 't', 'echo'], 'scheme'],
    ['an unknown driver', ['call', '--url', 'nats://h/', '--topic', 't', 'echo'], '--driver PACKAGE'],
    ['a bad version', ['call', ...ECHO, '--rpc-version', 'one', 'echo'], 'version'],
    ['NaN, which is not sent', ['call', ...ECHO, 'echo', '{"message": NaN}'], 'args.message'],
    ['two servers at once', ['call', ...ECHO, ...ENDPOINTS, 'echo'], 'not both'],
    ['nothing to serve', ['serve', '--topic', 't'], '--echo or --endpoints FILE'],
    [
      'budgets that do not fit',
      ['serve', '--topic', 't', '--echo', '--cleanup-timeout', '30'],
      '160 + cleanup_timeout 30',
    ],
    [
      'a missing endpoints file',
      ['serve', '--topic', 't', '--endpoints', './absent.mjs'],
      'absent.mjs cannot be loaded',
    ],
  ];
  for (const [name, argv, text] of wrong) {
    it(`refuses ${name} with exit code 2, one line and no output`, async () => {
      const human = await cli(argv);
      expect(human.code).to.equal(2);
      expect(human.stdout).to.equal('');
      expect(human.stderr)
        .to.include(text)
        .and.match(/^ebbgate[^\n]*\n$/);
      const json = await cli([...argv, '--json']);
      expect(errorIn(json.stderr)).to.include({ exitCode: 2 });
    });
  }

  it('says why nothing can answer at memory: without a server in the process', async () => {
    for (const command of ['call', 'cast']) {
      const ran = await cli([command, '--topic', 't', 'echo']);
      expect(ran.code).to.equal(2);
      expect(ran.stderr)
        .to.include('lives within one process')
        .and.include('--serve-echo')
        .and.include('--url');
    }
  });

  it('teaches: every command has examples, exit codes and units', async () => {
    const top = await cli(['--help']);
    expect(top.code).to.equal(0);
    expect(top.stdout)
      .to.include('Exit codes:')
      .and.include('EBBGATE_URL')
      .and.include('npm install @ebbgate/driver-amqp');
    for (const command of ['serve', 'call', 'cast', 'ping', 'bench']) {
      const { code, stdout, stderr } = await cli([command, '--help']);
      expect(code).to.equal(0);
      expect(stderr).to.equal('');
      expect(stdout, command)
        .to.include('Examples:')
        .and.match(/[Ee]xit\s+codes:/)
        .and.include('seconds');
    }
  });

  it('fits its help into 80 columns, but for what is to be copied', async () => {
    for (const command of [[], ['serve'], ['call'], ['cast'], ['ping'], ['bench']]) {
      const { stdout } = await cli([...command, '--help']);
      const wide = stdout.split('\n').filter((line) => line.length > 80 && !line.startsWith('  ebbgate '));
      expect(wide).to.deep.equal([]);
    }
  });

  it('prints its version, and the help when there is no command', async () => {
    expect((await cli(['--version'])).stdout).to.match(/^\d+\.\d+\.\d+\S*\n$/);
    const none = await cli([]);
    expect(none.code).to.equal(2);
    expect(none.stderr).to.include('Usage: ebbgate');
  });

  it('survives a reader that goes away, and tells of a disk that is full', async () => {
    const failing = (code: string): Writable =>
      new Writable({
        write: (_chunk, _encoding, done) => {
          done(Object.assign(new Error(code), { code }));
        },
      });
    const gone = await cli(['ping', ...ECHO, '--count', '0', '--interval', '0'], {
      stdout: failing('EPIPE'),
    });
    expect(gone).to.deep.equal({ code: 0, stdout: '', stderr: '' });
    const stderr = new Kept();
    const full = await cli(['call', ...ECHO, 'echo'], { stdout: failing('ENOSPC'), stderr });
    expect(full.code).to.equal(1);
    expect(stderr.text).to.include('ENOSPC');
  });

  it('draws progress on a terminal and clears it before it writes', async () => {
    const stderr = Object.assign(new Kept(), { isTTY: true });
    const ran = await cli(['bench', '--duration', '0.6', '--warmup', '0'], { stderr });
    expect(ran.code).to.equal(0);
    const drawn = stderr.text.split('\r\u001b[K');
    expect(drawn[1]).to.match(/^\d+\.\d s: \d+ done, \d+\/s, 0 failed$/);
    expect(drawn.at(-1)).to.equal('');
  });
});

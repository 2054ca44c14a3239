import { join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { CliProcess, runEbbgate } from '../support/cli-process.js';

const DRIVER = join(import.meta.dirname, '../support/fixtures/cli-driver.js');
const ENDPOINTS = join(import.meta.dirname, '../support/fixtures/cli-endpoints.js');

describe('ebbgate as a process', function () {
  this.timeout(30_000);

  it('calls the echo server in its own process over memory:', async () => {
    const ended = await runEbbgate([
      'call',
      '--topic',
      'demo',
      '--serve-echo',
      '--json',
      'echo',
      '{"message": "hello"}',
    ]);
    expect(ended).to.deep.equal({ code: 0, signal: null, stdout: '"hello"\n', stderr: '' });
  });

  it('carries hostile JSON as the data that it is', async () => {
    const hostile =
      '{"__proto__": {"a": 1}, "constructor": null, "n": -0, "big": 9007199254740993, "esc": "\\u001b]0;x\\u0007\\u009b"}';
    const ended = await runEbbgate(
      ['call', '--topic', 'demo', '--serve-echo', '--json', 'echo', '-'],
      `{"message": ${hostile}}`,
    );
    expect(ended.code).to.equal(0);
    expect(ended.stdout).to.include('"__proto__":{"a":1}').and.include('"big":9007199254740993');
    // eslint-disable-next-line no-control-regex -- they are what must not be there
    expect(ended.stdout).not.to.match(/[\u001b\u0007\u009b]/);
  });

  const codes: readonly [string, number, string[]][] = [
    ['wrong usage', 2, ['call']],
    ['bad JSON', 2, ['call', '--topic', 't', '--serve-echo', 'echo', '{"a": ']],
    ['an unknown scheme', 2, ['ping', '--topic', 't', '--url', 'nats://u:s3cret@h/']],
    [
      'a driver that is not there',
      2,
      ['ping', '--topic', 't', '--driver', '@ebbgate/absent', '--url', 'nats:'],
    ],
    ['memory: alone', 2, ['call', '--topic', 't', 'echo']],
    [
      'no answer in time',
      10,
      ['call', '--topic', 't', '--endpoints', ENDPOINTS, '--timeout', '0.05', 'never'],
    ],
    [
      'nobody there',
      11,
      ['call', '--topic', 't', '--driver', DRIVER, '--url', 'outside://u:s3cret@h/', 'echo'],
    ],
    ['an error of the method', 12, ['call', '--topic', 't', '--endpoints', ENDPOINTS, 'fail']],
    ['no such method', 13, ['call', '--topic', 't', '--serve-echo', 'absent']],
    [
      'refused credentials',
      15,
      ['call', '--topic', 't', '--driver', DRIVER, '--url', 'denied://u:s3cret@h/', 'echo'],
    ],
    [
      'a service that cannot start',
      1,
      ['serve', '--topic', 't', '--echo', '--driver', DRIVER, '--url', 'denied://u:s3cret@h/'],
    ],
  ];
  for (const [name, code, argv] of codes) {
    it(`exits with ${String(code)} for ${name}, with one JSON error and no secret (SEC-04)`, async () => {
      const ended = await runEbbgate([...argv, '--json']);
      expect(ended.code).to.equal(code);
      expect(ended.stdout + ended.stderr).not.to.include('s3cret');
      const errors = ended.stderr.split('\n').filter((line) => line.includes('"exitCode"'));
      if (argv[0] !== 'serve')
        expect(JSON.parse(errors[0] ?? '')).to.have.nested.property('error.exitCode', code);
    });
  }

  it('ends when nobody reads its output any more, without a word', async () => {
    const run = new CliProcess(['ping', '--topic', 't', '--serve-echo', '--count', '0', '--interval', '0']);
    await run.line((line) => line.startsWith('ping 1'));
    run.child.stdout?.destroy();
    const ended = await run.ended;
    expect(ended).to.include({ code: 0, signal: null, stderr: '' });
  });

  it('ends a call at SIGINT with exit code 130, and at SIGTERM with 143', async () => {
    for (const [signal, code] of [
      ['SIGINT', 130],
      ['SIGTERM', 143],
    ] as const) {
      const run = new CliProcess([
        'call',
        '--topic',
        't',
        '--json',
        '--endpoints',
        ENDPOINTS,
        'tell_and_wait',
      ]);
      await run.message('running');
      run.child.kill(signal);
      const ended = await run.ended;
      expect(ended.code).to.equal(code);
      expect(ended.stderr).to.include(`Ended by ${signal}`);
    }
  });

  it('does not wait for what a module has left behind', async () => {
    const ended = await runEbbgate(['call', '--topic', 't', '--endpoints', ENDPOINTS, 'leave_a_timer']);
    expect(ended).to.include({ code: 0, stdout: 'null\n' });
  });
});

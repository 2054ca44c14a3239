import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { Interruption, runCli } from '@ebbgate/cli';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { cli, Kept, objects } from './cli-run.js';

const DRIVER = join(import.meta.dirname, '../../support/fixtures/cli-driver.js');

/** A broker that this test alone uses, and `ebbgate listen` on it. */
class Listening {
  readonly at: readonly string[];
  readonly ended: Promise<number>;
  readonly #stdout = new Kept();
  readonly #stderr = new Kept();
  readonly #interruption = new AbortController();

  private constructor(argv: readonly string[]) {
    this.at = ['--driver', DRIVER, '--url', `outside://${randomUUID()}/`];
    this.ended = runCli(['listen', ...this.at, ...argv], {
      ...{ stdin: Readable.from([]), stdout: this.#stdout, stderr: this.#stderr, env: {} },
      ...{ cwd: import.meta.dirname, signals: [], interrupted: this.#interruption.signal },
    });
  }

  static async start(...argv: readonly string[]): Promise<Listening> {
    const listening = new Listening(argv);
    await new Promise<void>((resolve) => {
      listening.#stderr.onText = resolve;
    });
    return listening;
  }

  get stdout(): string {
    return this.#stdout.text;
  }

  get stderr(): string {
    return this.#stderr.text;
  }

  async notify(...argv: readonly string[]): Promise<void> {
    expect(await cli(['notify', ...this.at, ...argv])).to.deep.equal({ code: 0, stdout: '', stderr: '' });
  }

  interrupt(): void {
    this.#interruption.abort(new Interruption('SIGINT', 130));
  }
}

describe('ebbgate notify and ebbgate listen', () => {
  it('print a notification on a line', async () => {
    const listening = await Listening.start('--count', '1');
    expect(listening.stderr).to.match(/^listening at outside:.*: topic notifications\n$/);
    await listening.notify('instance.create', '{"id": [1, null]}', '--publisher-id', 'compute.host1');
    expect(await listening.ended).to.equal(0);
    expect(listening.stdout).to.match(
      /^\d{4}-\d\d-\d\d [\d:.]+ info compute\.host1 instance\.create \{"id":\[1,null\]\}\n$/,
    );
  });

  it('print it as an object with --json, its context without a token (SEC-05)', async () => {
    const listening = await Listening.start('--count', '1', '--json', '--topic', 'a', '--topic', 'b');
    const context = '{"user_id": "u", "auth_token": "secret"}';
    const more = ['--priority', 'critical', '--topic', 'b', '--format', 'messaging', '--context', context];
    await listening.notify('broke', '"text"', ...more);
    expect(await listening.ended).to.equal(0);
    const [line] = objects(listening.stdout);
    expect(line).to.deep.include({ priority: 'critical', eventType: 'broke', payload: 'text' });
    expect(line?.['context']).to.deep.equal({ user_id: 'u' });
    expect(objects(listening.stderr)[0]).to.deep.include({ event: 'listening', topics: ['a', 'b'] });
  });

  it('print those alone that match', async () => {
    const filters = ['--event-type', 'i.*\\.end$', '--payload', 'state=active', '--publisher-id', 'p'];
    const listening = await Listening.start('--count', '1', '--priority', 'info', ...filters);
    for (const [type, state] of [
      ['instance.start', 'active'],
      ['instance.end', 'error'],
      ['instance.end', 'active'],
    ] as const)
      await listening.notify(type, JSON.stringify({ state }), '--publisher-id', 'p1');
    expect(await listening.ended).to.equal(0);
    expect(listening.stdout)
      .to.include('instance.end {"state":"active"}')
      .and.match(/^[^\n]*\n$/);
  });

  it('end with the code of the signal', async () => {
    const listening = await Listening.start();
    listening.interrupt();
    expect(await listening.ended).to.equal(130);
  });

  it('read the payload from stdin, and confirm with --json', async () => {
    const listening = await Listening.start('--count', '1', '--json');
    const stdin = Readable.from(['{"n": 12345678901234567890}']);
    const ran = await cli(['notify', ...listening.at, '--json', 'e', '-'], { stdin });
    expect(ran).to.deep.equal({ code: 0, stdout: '{"sent":true}\n', stderr: '' });
    expect(await listening.ended).to.equal(0);
    expect(listening.stdout).to.include('12345678901234567890');
  });

  for (const [what, argv, text] of [
    ['a broker within the process', ['notify', 'e'], 'lives within one process'],
    ['a broker within the process', ['listen'], 'lives within one process'],
    ['a payload that is no JSON', ['notify', 'e', '{'], 'The payload must be JSON'],
    ['an empty payload', ['notify', 'e', ''], 'The payload must be JSON'],
    ['a priority that does not exist', ['notify', '--priority', 'loud', 'e'], 'loud'],
    ['a priority that does not exist', ['listen', '--priority', 'loud'], 'It must be one of'],
    ['an expression that is none', ['listen', '--event-type', '('], 'no regular expression'],
    ['a payload rule without a name', ['listen', '--payload', 'x'], 'name=expression'],
  ] as const) {
    it(`refuse ${what}: ${argv.join(' ')}`, async () => {
      const ran = await cli(argv);
      expect([ran.code, ran.stdout]).to.deep.equal([2, '']);
      expect(ran.stderr).to.include(text);
    });
  }
});

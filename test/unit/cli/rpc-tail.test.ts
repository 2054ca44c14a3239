import { join } from 'node:path';
import { Readable } from 'node:stream';
import { Interruption, runCli } from '@ebbgate/cli';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { cli, Kept, objects } from './cli-run.js';

const FIXTURES = join(import.meta.dirname, '../../support/fixtures');
const AT = ['rpc-tail', '--driver', join(FIXTURES, 'tailed-driver.js'), '--topic', 'compute'];
const URL = ['--url', 'tailed:'];

/** Lines without their times. */
const timeless = (text: string): string[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/^\d{4}-\d\d-\d\dT[\d:.]+Z /, '').replace(/ \d+ ms/, ' N ms'));

describe('ebbgate rpc-tail', () => {
  it('prints each request on a line, and what is answered to it, secrets masked (SEC-04)', async () => {
    const ran = await cli([...AT, ...URL, '--count', '8']);
    expect(ran.code, ran.stderr).to.equal(0);
    expect(timeless(ran.stdout)).to.deep.equal([
      'call compute get {"id":7}',
      'cast compute.host1 reboot {"adminPass":"***","note":"see amqp://***@host/"}',
      'fanout compute refresh {}',
      'alive get N ms',
      'reply get N ms {"state":"up","token":"***"}',
      'call compute.host1 fail {}',
      'failure fail N ms ValueError: password=***',
      'unreadable compute 12 bytes',
    ]);
  });

  it('says on stderr what it cannot see', async () => {
    const ran = await cli([...AT, ...URL, '--count', '1']);
    expect(ran.stderr).to.equal('tailing tailed://: topic compute; not what is whispered\n');
  });

  it('prints objects with --json, with the context, and no secret and no address of a reply queue (SEC-04)', async () => {
    const ran = await cli([...AT, ...URL, '--count', '8', '--json']);
    const [call, cast, , , reply, , failure] = objects(ran.stdout);
    expect(call).to.deep.include({
      kind: 'call',
      topic: 'compute',
      method: 'get',
      version: '5.0',
      msgId: 'm1',
    });
    expect(cast).to.deep.include({ kind: 'cast', server: 'host1' });
    expect(cast?.['context']).to.deep.equal({ request_id: 'req-1', auth_token: '***' });
    expect(reply).to.deep.include({ kind: 'reply', method: 'get', msgId: 'm1' });
    expect(failure?.['failure']).to.deep.equal({ type: 'ValueError', message: 'password=***' });
    expect(objects(ran.stderr)[0]).to.deep.include({ event: 'tailing', unseen: ['what is whispered'] });
    expect(ran.stdout + ran.stderr).to.not.match(/hunter2|reply_1/);
  });

  it('prints those requests alone that are asked for, and their replies', async () => {
    const byMethod = await cli([...AT, ...URL, '--method', 'fail', '--method', 'none', '--count', '2']);
    expect(timeless(byMethod.stdout).map((line) => line.split(' ')[0])).to.deep.equal(['call', 'failure']);
    const byId = await cli([...AT, ...URL, '--request-id', 'req-1', '--count', '1']);
    expect(timeless(byId.stdout)).to.have.length(1);
    expect(byId.stdout).to.include('reboot');
  });

  it('ends with the code of the signal', async () => {
    const interruption = new AbortController();
    const [stdout, stderr] = [new Kept(), new Kept()];
    stderr.onText = () => {
      interruption.abort(new Interruption('SIGINT', 130));
    };
    const argv = [...AT, ...URL];
    const environment = { stdin: Readable.from([]), stdout, stderr, env: {}, cwd: FIXTURES };
    expect(await runCli(argv, { ...environment, signals: [], interrupted: interruption.signal })).to.equal(
      130,
    );
  });

  it('ends with its connection, as what passes then is not seen', async () => {
    const ran = await cli([...AT, '--url', 'tailed:?ends=1']);
    expect(ran.code).to.equal(14);
    expect(ran.stderr).to.include('The connection was lost').and.to.include('[ERR_DELIVERY]');
  });

  for (const [what, argv, code, text] of [
    ['a broker within the process', [], 'ERR_USAGE', 'lives within one process'],
    ['Redis', ['--url', 'redis://127.0.0.1:1/'], 'ERR_CONFIGURATION', '"redis" nobody but its receiver'],
    ['AMQP 1.0', ['--url', 'amqp10://127.0.0.1:1/'], 'ERR_CONFIGURATION', '"amqp10" nobody but its receiver'],
  ] as const) {
    it(`refuses ${what}, and says why`, async () => {
      const ran = await cli([...AT, ...argv]);
      expect([ran.code, ran.stdout]).to.deep.equal([2, '']);
      expect(ran.stderr).to.include(text).and.to.include(`[${code}]`);
    });
  }

  it('refuses to begin without a topic', async () => {
    const ran = await cli(['rpc-tail']);
    expect([ran.code, ran.stdout]).to.deep.equal([2, '']);
    expect(ran.stderr).to.include('--topic');
  });
});

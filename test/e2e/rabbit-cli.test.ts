import { join } from 'node:path';
import { createTransport } from '@ebbgate/core';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import { RpcClient, RpcServer } from '@ebbgate/rpc';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { CliProcess, runEbbgate } from '../support/cli-process.js';
import { eventually } from '../support/rigs/deadline.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';

const WORK = join(import.meta.dirname, '../support/fixtures/cli-work.js');
const LIMIT_MS = 10_000;
const rabbit = await sharedRabbit();

/** A virtual host with a service in it that answers with what it is given, and a client of it. */
async function echoService() {
  const url = await rabbit.vhost();
  const transport = createTransport(url, { drivers: [rabbitDriver] });
  const seen: unknown[] = [];
  const endpoint = {
    echo: (_context: unknown, args: unknown) => {
      seen.push(args);
      return args;
    },
  };
  const server = new RpcServer(transport, { topic: 'demo', server: 's1' }, [endpoint]);
  await server.start();
  const end = async (): Promise<void> => {
    await server.stop();
    await server.wait({ timeoutMs: LIMIT_MS });
    await transport.close();
  };
  const vhost = decodeURIComponent(new URL(url).pathname.slice(1));
  return { url, vhost, client: new RpcClient(transport, { topic: 'demo' }), seen, end };
}

function objects(text: string): Record<string, unknown>[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('ebbgate between processes, over RabbitMQ', function () {
  this.timeout(30_000);

  it('serves, calls, pings and casts with nothing but a URL', async () => {
    const at = ['--url', await rabbit.vhost(), '--topic', 'demo'];
    const servers = ['s1', 's2'].map(
      (name) => new CliProcess(['serve', '--json', ...at, '--server', name, '--endpoints', WORK]),
    );
    await Promise.all(servers.map((server) => server.event('listening')));
    const [called, pinged, cast, undeliverable] = await Promise.all([
      runEbbgate(['call', ...at, '--server', 's2', 'quick', '{"id": 1}']),
      runEbbgate(['ping', ...at, '--server', 's1', '--count', '2', '--json']),
      runEbbgate(['cast', ...at, '--fanout', 'quick', '{"id": 7}']),
      runEbbgate(['call', ...at, '--server', 'nobody', 'quick', '{"id": 2}']),
    ]);
    expect([called.code, called.stdout]).to.deep.equal([0, '"s2"\n']);
    expect(pinged.code, pinged.stderr).to.equal(0);
    expect(cast.code, cast.stderr).to.equal(0);
    await Promise.all(servers.map((server) => server.message('ended 7')));
    expect(undeliverable.code).to.equal(11);
    for (const server of servers) server.child.kill('SIGTERM');
    for (const server of servers) expect((await server.ended).code).to.equal(0);
  });

  it('prints notifications without taking them from anybody, and leaves nothing behind', async () => {
    const url = await rabbit.vhost();
    const listen = new CliProcess(['listen', '--url', url, '--count', '1', '--json']);
    await listen.listening();
    const notified = await runEbbgate(['notify', '--url', url, 'instance.end', '{"id": 1}']);
    expect(notified.code, notified.stderr).to.equal(0);
    const { code, stdout } = await listen.ended;
    expect(code).to.equal(0);
    expect(JSON.parse(stdout)).to.deep.include({ eventType: 'instance.end', payload: { id: 1 } });
    const queues = await rabbit.view.queues(decodeURIComponent(new URL(url).pathname.slice(1)));
    expect(queues.filter(({ messages }) => messages > 0).map(({ name }) => name)).to.deep.equal([
      'notifications.info',
    ]);
    expect(queues.filter(({ name }) => name.includes('listen'))).to.deep.equal([]);
  });

  it('tails requests without taking them from anybody, and leaves nothing behind (AMQP-37)', async () => {
    const { url, vhost, client, seen, end } = await echoService();
    const tail = new CliProcess(['rpc-tail', '--url', url, '--topic', 'demo', '--count', '3', '--json']);
    await tail.tailing();
    expect(await client.call({ request_id: 'r' }, 'echo', { n: 1 })).to.deep.equal({ n: 1 });
    await client.prepare({ server: 's1' }).cast({}, 'echo', { n: 2 });
    await client.prepare({ fanout: true }).cast({}, 'echo', { n: 3 });
    const { code, stdout, stderr } = await tail.ended;
    expect(code, stderr).to.equal(0);
    expect(stderr).to.include('replies, which only a trace of the broker shows');
    const lines = objects(stdout);
    expect(lines.map(({ kind, server, args }) => [kind, server, args])).to.deep.equal([
      ['call', undefined, { n: 1 }],
      ['cast', 's1', { n: 2 }],
      ['fanout', undefined, { n: 3 }],
    ]);
    expect(lines[0]?.['context']).to.deep.equal({ request_id: 'r' });
    await eventually('all arrive', LIMIT_MS, () => seen.length === 3);
    expect((await rabbit.view.queues(vhost)).filter(({ name }) => name.includes('tail'))).to.deep.equal([]);
    await end();
  });

  it('tails calls and their replies where the broker traces, and refuses to where it does not', async () => {
    const { url, vhost, client, end } = await echoService();
    const argv = ['rpc-tail', '--url', url, '--topic', 'demo', '--trace', '--count', '2', '--json'];
    const refused = await runEbbgate(argv);
    expect(refused.code, refused.stderr).to.equal(2);
    expect(refused.stderr).to.include('ERR_CONFIGURATION').and.to.include('trace_on');
    await rabbit.ctl('trace_on', '-p', vhost);
    const tail = new CliProcess(argv);
    await tail.tailing();
    expect(await client.call({}, 'echo', { text: 'both arrive' })).to.deep.equal({ text: 'both arrive' });
    const { code, stdout, stderr } = await tail.ended;
    await rabbit.ctl('trace_off', '-p', vhost);
    expect(code, stderr).to.equal(0);
    const [call, reply] = objects(stdout);
    expect(call).to.deep.include({ kind: 'call', method: 'echo', args: { text: 'both arrive' } });
    expect(reply).to.deep.include({ kind: 'reply', method: 'echo', result: { text: 'both arrive' } });
    expect(reply?.['msgId']).to.equal(call?.['msgId']);
    await end();
  });

  it('refuses to tail where nobody has ever listened, and whom the broker does not let in (AMQP-33, AMQP-18)', async () => {
    const url = await rabbit.vhost();
    const nobody = await runEbbgate(['rpc-tail', '--url', url, '--topic', 'demo']);
    expect([nobody.code, nobody.stderr]).to.deep.equal([
      11,
      'ebbgate rpc-tail: There is no exchange "openstack" at the broker: nobody has ever listened there [ERR_UNDELIVERABLE]\n',
    ]);
    const wrong = url.replace(/\/\/[^@]*@/, '//nobody:wr0ng@');
    const refused = await runEbbgate(['rpc-tail', '--url', wrong, '--topic', 'demo']);
    expect(refused.code, refused.stderr).to.equal(15);
    expect(refused.stderr).to.not.include('wr0ng');
  });
});

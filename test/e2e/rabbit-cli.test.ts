import { join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { CliProcess, runEbbgate } from '../support/cli-process.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';

const WORK = join(import.meta.dirname, '../support/fixtures/cli-work.js');
const rabbit = await sharedRabbit();

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
});

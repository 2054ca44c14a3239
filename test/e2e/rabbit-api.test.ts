import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTransport } from '@ebbgate/core';
import { RemoteRecords } from '@ebbgate/compute';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { DaemonProcess } from '../support/daemon-process.js';
import { freePort } from '../support/rigs/free-port.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';

const rabbit = await sharedRabbit();
const TOKEN = 'a-token-of-an-admin';

describe('the API as a process, on RabbitMQ', function () {
  this.timeout(60_000);

  it('asks the conductor that has the records, takes tokens from a file, tells metrics, and ends with 0 (FD-13, FD-19, HTTP-01, HTTP-02, SEC-04)', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ebbgate-test-'));
    const tokens = join(folder, 'tokens.json');
    const entry = { token: TOKEN, user: 'ann', roles: ['admin'] };
    await writeFile(tokens, JSON.stringify({ tokens: [entry] }), { mode: 0o600 });
    const url = await rabbit.vhost();
    const transport = createTransport(url, { drivers: [rabbitDriver], controlExchange: 'nova' });
    const { services } = new RemoteRecords(transport, { timeoutMs: 10_000 });
    const health = await freePort();
    const conductor = new DaemonProcess(url, ['conductor', '--name', 'c', '--database', 'memory:']);
    const flags = ['--listen', '127.0.0.1:0', '--token-file', tokens, '--health', String(health)];
    const api = new DaemonProcess(url, ['api', '--name', 'a', ...flags]);
    try {
      const [listens] = await Promise.all([api.event(({ kind }) => kind === 'listens'), conductor.serves()]);
      const port = listens.kind === 'listens' ? listens.port : 0;
      const now = { state: 'running', reportedAtMs: Date.now() };
      await services.register({ binary: 'compute', host: 'host1', ...now });
      const put = (token: string): Promise<Response> =>
        fetch(`http://127.0.0.1:${port}/v2.1/p1/os-services/force-down`, {
          method: 'PUT',
          headers: { 'content-type': 'application/json', 'x-auth-token': token },
          body: JSON.stringify({ binary: 'nova-compute', host: 'host1', forced_down: true }),
        });
      expect((await put('another-token')).status).to.equal(401);
      const answer = await put(TOKEN);
      expect([answer.status, await answer.json()]).to.deep.equal([
        200,
        { service: { binary: 'nova-compute', host: 'host1', forced_down: true } },
      ]);
      expect((await services.get('compute', 'host1')).forcedDown).to.equal(true);
      const at = async (path: string): Promise<Response> => fetch(`http://127.0.0.1:${health}${path}`);
      expect((await at('/readyz')).status).to.equal(200);
      expect(await (await at('/metrics')).text()).to.contain(
        'ebbgate_services{binary="nova-compute",state="forced_down"} 1\n',
      );
      api.child.kill('SIGTERM');
      expect(await api.ended, api.log).to.deep.equal({ code: 0, signal: null });
      expect(api.log).to.not.contain('token-of');
    } finally {
      for (const { child } of [api, conductor]) child.kill('SIGKILL');
      await Promise.all([api.ended, conductor.ended]);
      await transport.close();
      await rm(folder, { recursive: true });
    }
  });
});

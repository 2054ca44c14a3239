import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTransport } from '@ebbgate/core';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import { HypervisorDirectory } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { RemoteApi } from '#compute/api/remote-api.js';
import { RecordedJob } from '#compute/main-job/recorded-job.js';
import { DaemonProcess } from '../support/daemon-process.js';
import { OperatorCli } from '../support/operator-cli.js';
import { eventually } from '../support/rigs/deadline.js';
import { freePort } from '../support/rigs/free-port.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';
import { runCommand } from '../support/run-command.js';

const rabbit = await sharedRabbit();
const recorded = await RecordedJob.read({ freshIds: true });
const LIMIT_MS = 30_000;
const FAST = ['--boot-ms', '20', '--recheck-interval', '0.2'];
const MONITOR = fileURLToPath(new URL('../../examples/fault-monitor.js', import.meta.url));

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

describe('a compute daemon that is forced down, on RabbitMQ', function () {
  this.timeout(120_000);

  it('does not start or waits, as it is told; is cleaned up by command or by itself; then serves; is evacuated as a whole, repaired and cleared by a fault monitor; and fences itself (FD-6, FD-10, FD-11, FD-12, FD-23, FD-32, FD-33, FD-34, FD-37)', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ebbgate-test-'));
    const url = await rabbit.vhost();
    const transport = createTransport(url, { drivers: [rabbitDriver], controlExchange: 'nova' });
    const { records, servers, rebuilds } = new RemoteApi(transport, { timeoutMs: 10_000 });
    const machines = new HypervisorDirectory(folder);
    const cli = new OperatorCli({ EBBGATE_URL: url });
    const port = await freePort();
    const daemons: DaemonProcess[] = [];
    const start = (...argv: string[]): DaemonProcess => {
      const daemon = new DaemonProcess(url, argv, { limitMs: 120_000 });
      daemons.push(daemon);
      return daemon;
    };
    const compute = (host: string, ...flags: string[]): DaemonProcess =>
      start('compute', '--host', host, '--state-dir', folder, ...FAST, ...flags);
    const forceDown = (forcedDown: boolean): Promise<unknown> =>
      records.services.update('compute', 'a', { forcedDown });
    const ready = (status: number, reason: string | null): Promise<unknown> =>
      eventually(`/readyz answers ${status} ${String(reason)}`, LIMIT_MS, async () => {
        const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
        const body = (await answer?.json()) as { reason?: unknown } | undefined; // that of the snapshot
        return answer?.status === status && body?.reason === reason;
      });
    const consumers = async (): Promise<readonly number[]> => {
      const queues = await rabbit.view.queues(new URL(url).pathname.slice(1));
      return ['compute.a', 'compute-ops.a'].map(
        (queue) => queues.find(({ name }) => name === queue)?.consumers ?? -1,
      );
    };
    try {
      const [first] = [compute('a'), compute('b'), start('conductor', '--name', 'c', '--scheduler', 'local')];
      await Promise.all(daemons.map((daemon) => daemon.serves()));
      const { context } = recorded;
      const boot = async (number: number): Promise<string> => {
        const booted = (await servers.boot(context, recorded.bootRequest(number, 'a'))).get('uuid');
        await eventually('the instance is active', LIMIT_MS, async () => {
          return (await records.instances.get(booted)).get('vm_state') === 'active';
        });
        return booted;
      };
      const uuid = await boot(1);
      const evacuation = async (status: string): Promise<boolean> => {
        const [migration] = await records.migrations.find({ instance_uuid: uuid });
        return migration?.get('status') === status;
      };
      first.child.kill('SIGKILL');
      await first.ended;
      await forceDown(true);
      await rebuilds.evacuate(context, uuid);
      await eventually('it is evacuated', LIMIT_MS, () => evacuation('done'));

      const refused = compute('a', '--forced-down-start', 'refuse');
      expect((await refused.ended).code, refused.log).to.equal(5);
      expect(refused.log).to.contain('clean up with \\"host clean-up\\"');
      expect(machines.locate(uuid)).to.deep.equal(['a', 'b']);
      const cleaned = await cli.ok('host', 'clean-up', '--host', 'a', '--state-dir', folder);
      expect(cleaned).to.equal('a is clean: 1 evacuations are completed\n');
      expect(machines.locate(uuid)).to.deep.equal(['b']);
      expect(await evacuation('completed')).to.equal(true);

      const waiting = compute('a', '--health', String(port));
      await ready(503, 'forced down');
      expect(await consumers()).to.deep.equal([0, 0]);
      await forceDown(false);
      waiting.child.kill('SIGHUP'); // has it look now
      await ready(200, null);
      expect(await consumers()).to.deep.equal([1, 1]);

      const lost = [await boot(2), await boot(3)];
      waiting.child.kill('SIGKILL');
      await waiting.ended;
      await records.services.report({ binary: 'compute', host: 'a', state: 'running', reportedAtMs: 1 }); // long ago
      const api = start('api', '--listen', '127.0.0.1:0');
      const listens = await api.event(({ kind }) => kind === 'listens');
      const [fenced, repaired] = [join(folder, 'fenced-a'), join(folder, 'repaired-a')];
      const told = runCommand(
        'env',
        [
          ...[`FENCE=touch ${folder}/fenced-$HOST`, `REPAIR=touch ${folder}/repaired-$HOST`, 'LOOK_MS=50'],
          ...[
            process.execPath,
            MONITOR,
            `http://127.0.0.1:${listens.kind === 'listens' ? listens.port : 0}`,
            'a',
          ],
        ],
        folder,
      );
      await eventually('the monitor has the host repaired', LIMIT_MS, () => exists(repaired));
      expect(await exists(fenced)).to.equal(true);
      for (const one of lost) expect(machines.locate(one)).to.deep.equal(['a', 'b']);
      const repairedHost = compute('a', '--health', String(port));
      const { code, stdout, stderr } = await told;
      expect([code, stderr], stdout).to.deep.equal([0, '']);
      expect(stdout)
        .to.contain('evacuated 2, under way 0, failed 0\n')
        .and.match(/a is back\n$/);
      for (const one of lost) expect(machines.locate(one)).to.deep.equal(['b']);
      repairedHost.child.kill('SIGHUP'); // has it look now
      await ready(200, null);
      const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      expect(metrics).to.contain('ebbgate_service_state{service="compute",host="a",state="running"} 1\n');
      expect(metrics).to.match(
        /^ebbgate_rpc_calls_total\{method="service_report",kind="call",outcome="ok"\} \d+$/m,
      );
      expect(await consumers()).to.deep.equal([1, 1]);

      await forceDown(true);
      repairedHost.child.kill('SIGHUP');
      await ready(503, 'forced down');
      expect(await consumers()).to.deep.equal([0, 0]);
      repairedHost.child.kill('SIGTERM');
      expect(await repairedHost.ended, repairedHost.log).to.deep.equal({ code: 0, signal: null });
    } catch (error) {
      const logs = daemons.map(({ log }) => log).join('\n');
      throw new Error(`It failed; the daemons have logged:\n${logs}`, { cause: error });
    } finally {
      for (const { child } of daemons) child.kill('SIGKILL');
      await Promise.all(daemons.map(({ ended }) => ended));
      await transport.close();
      await rm(folder, { recursive: true });
    }
  });
});

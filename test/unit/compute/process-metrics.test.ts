import { createTransport } from '@ebbgate/core';
import { Liveness } from '@ebbgate/compute';
import { RpcClient, RpcServer } from '@ebbgate/rpc';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ProcessMetrics } from '#compute/observability/process-metrics.js';
import { codeOf, SOURCE, withCloud } from './test-cloud.js';

async function withMetrics(
  work: (metrics: ProcessMetrics, lines: () => Promise<readonly string[]>) => Promise<void>,
) {
  const metrics = new ProcessMetrics();
  metrics.hear();
  try {
    await work(metrics, async () => (await metrics.text()).text.split('\n'));
  } finally {
    metrics.close();
  }
}

describe('compute: metrics of a process', () => {
  it('tell what is sent and served, by method, kind and outcome, and how long it took', () =>
    withMetrics((metrics, lines) =>
      withCloud({}, async (test) => {
        await test.bootActive();
        const { records, computeApi } = test.cloud;
        const instance = (await records.instances.find({}))[0];
        if (!instance) throw new Error('there is no instance');
        const call = computeApi.call({}, 'get_console_output', 'nowhere', { instance, tail_length: null });
        expect(await codeOf(call)).to.equal('ERR_UNDELIVERABLE');
        const told = await lines();
        expect(told).to.include(
          'ebbgate_rpc_calls_total{method="build_and_run_instance",kind="cast",outcome="ok"} 1',
        );
        expect(told).to.include(
          'ebbgate_rpc_requests_total{method="build_and_run_instance",kind="cast",outcome="ok"} 1',
        );
        expect(told).to.include(
          'ebbgate_rpc_calls_total{method="get_console_output",kind="call",outcome="ERR_UNDELIVERABLE"} 1',
        );
        expect(told).to.include(
          'ebbgate_rpc_request_duration_seconds_count{method="build_and_run_instance",kind="cast"} 1',
        );
        metrics.close();
        await test.bootActive();
        expect((await lines()).filter((line) => line.includes('_total{method="build'))).to.deep.equal(
          told.filter((line) => line.includes('_total{method="build')),
        );
      }),
    ));

  it('put names that are in no table together: they come from the wire (SEC-06)', () =>
    withMetrics(async (_metrics, lines) => {
      const transport = createTransport('memory://process-metrics/');
      const server = new RpcServer(transport, { topic: 't', server: 's' }, [{ known: () => 1 }]);
      await server.start();
      const client = new RpcClient(transport, { topic: 't', server: 's' });
      for (const name of ['one', 'two', '__proto__', 'constructor'])
        expect(await codeOf(client.call({}, name, {}))).to.be.a('string');
      await transport.close();
      const requests = (await lines()).filter((line) => line.startsWith('ebbgate_rpc_requests_total{'));
      expect(requests.length).to.equal(1);
      expect(requests[0]).to.match(
        /^ebbgate_rpc_requests_total\{method="other",kind="call",outcome="\w+"\} 4$/,
      );
    }));

  it('tell what runs and how it has ended, what is unsent, and in which state each service is', () =>
    withMetrics((metrics, lines) =>
      withCloud({}, async (test) => {
        const { process } = test.cloud.host(SOURCE);
        metrics.watch(process.service);
        metrics.watchTransport(test.cloud.computeApi.transport);
        const held = test.virt(SOURCE).steps.hold('create-disks');
        test.virt(SOURCE).steps.failNext('create-disks');
        await test.boot();
        await held.reached;
        const during = await lines();
        expect(during).to.include('ebbgate_tasks{kind="background"} 1');
        expect(during).to.include('ebbgate_unsent_messages 0');
        expect(during).to.include('ebbgate_broker_away 0');
        expect(during).to.include(
          `ebbgate_service_state{service="compute",host="${SOURCE}",state="running"} 1`,
        );
        expect(during).to.include(
          `ebbgate_service_state{service="compute",host="${SOURCE}",state="draining"} 0`,
        );
        held.release();
        await test.idle(SOURCE);
        expect((await lines()).some((line) => /_ended_total\{outcome="failed"\} [1-9]/.test(line))).to.equal(
          true,
        );
        await test.cloud.host(SOURCE).terminate();
        const after = await lines();
        const { completed, failed } = process.service.registry.counts;
        expect(after).to.include.members([
          `ebbgate_tasks_ended_total{outcome="completed"} ${completed}`, // also of those that are over
          `ebbgate_tasks_ended_total{outcome="failed"} ${failed}`,
          `ebbgate_tasks_ended_total{outcome="aborted"} 0`,
        ]);
        expect(after.some((line) => line.startsWith('ebbgate_service_state{'))).to.equal(false);
      }),
    ));

  it('stay readable while the records are not', () =>
    withMetrics(async (metrics, lines) => {
      metrics.watchServices({ services: () => Promise.reject(new Error('away')), liveness: new Liveness() });
      const told = await lines();
      expect(told).to.include('ebbgate_records_readable 0');
      expect(told).to.include('ebbgate_tasks{kind="handler"} 0');
      expect(told.some((line) => line.startsWith('ebbgate_services{'))).to.equal(false);
    }));
});

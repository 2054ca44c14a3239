import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createTransport, silentLogger } from '@ebbgate/core';
import { schedulerService } from '@ebbgate/compute';
import { type TestCloud, withCloud } from './test-cloud.js';

const HOSTS = ['h1', 'h2'];

/** Ends the only scheduler: what conductors ask then stays in its queue. */
async function endScheduler(test: TestCloud): Promise<void> {
  for (const scheduler of test.cloud.schedulers) await scheduler.drain('SIGTERM');
}

/** Starts another one; resolves when it has answered all that was left in the queue. */
async function startAnother(test: TestCloud, url: string): Promise<() => Promise<unknown>> {
  const { records } = test.cloud;
  const transport = createTransport(url, { controlExchange: 'nova' });
  const service = schedulerService({ name: 'late', transport, records, logger: silentLogger });
  await service.start();
  await service.registry.whenIdle();
  return () => service.drain('the end');
}

describe('a scheduler that does not answer', () => {
  it('ends a boot in ERROR; one that starts later claims nothing for it (RPC-02)', () =>
    withCloud(
      { hosts: HOSTS, schedulers: 1, rpcTimeoutMs: 100, transport: 'memory://scheduler-away-1/' },
      async (test) => {
        await endScheduler(test);
        const request = test.recorded.bootRequest(1, '');
        request.requestSpec.update({ force_hosts: null });
        const instance = await test.cloud.servers.boot(test.recorded.context, request);
        await test.becomes(instance.get('uuid'), 'error/-');
        const end = await startAnother(test, 'memory://scheduler-away-1/');
        const second = test.recorded.bootRequest(2, '');
        second.requestSpec.update({ force_hosts: null });
        const booted = await test.cloud.servers.boot(test.recorded.context, second);
        await test.becomes(booted.get('uuid'), 'active/-');
        const claims = await test.cloud.records.allocations.find({});
        expect(claims.map(({ consumer }) => consumer)).to.deep.equal([booted.get('uuid')]);
        expect(test.arrived.filter((one) => one.startsWith('build_and_run'))).to.have.length(1);
        await end();
      },
    ));

  it('leaves an instance that was to be moved as it was, with what it has (RPC-02)', () =>
    withCloud(
      { hosts: HOSTS, schedulers: 1, rpcTimeoutMs: 100, transport: 'memory://scheduler-away-2/' },
      async (test) => {
        const uuid = await test.bootActive('h1');
        const before = await test.cloud.records.allocations.find({});
        await endScheduler(test);
        await test.migrate(uuid, 'h2');
        await test.migrationBecomes(uuid, 'error');
        await test.becomes(uuid, 'active/-');
        expect(await test.cloud.records.allocations.find({})).to.deep.equal(before);
        const end = await startAnother(test, 'memory://scheduler-away-2/');
        await end();
        expect(await test.cloud.records.allocations.find({})).to.deep.equal(before);
        expect((await test.cloud.records.instances.get(uuid)).get('host')).to.equal('h1');
      },
    ));
});

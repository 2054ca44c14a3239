import { createTransport } from '@ebbgate/core';
import { RpcClient, RpcServer } from '@ebbgate/rpc';
import { Service, taskInterceptor, TaskRegistry } from '@ebbgate/service';
import { expect } from 'chai';
import { afterEach, describe, it } from 'mocha';

const BLOCK_MS = 30;
const budgets = {
  managerShutdownTimeoutMs: 150,
  cleanupTimeoutMs: 50,
  closingTimeoutMs: 50,
  gracefulShutdownTimeoutMs: 400,
};
/** What a step can take longer than its limit: methods that block before its timer is looked at, and a busy machine. */
const LATE_MS = 10 * BLOCK_MS + 300;

/** Nothing else happens in this thread meanwhile: what a method does that computes, or calls a library that waits. */
function block(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BLOCK_MS);
}

const transport = createTransport('memory://blocked-loop/');

/** A host whose method blocks the loop at each request, and its clients. */
async function blockingHost(host: string) {
  const executed: number[] = [];
  const endpoint = {
    work: (_context: unknown, { number }: { number: number }) => {
      block();
      executed.push(number);
      return number;
    },
  };
  const registry = new TaskRegistry();
  const serverOn = (topic: string): RpcServer =>
    new RpcServer(transport, { topic, server: host }, [endpoint], {
      slots: 2,
      interceptors: [taskInterceptor(registry)],
    });
  const cleanedUp: string[] = [];
  const make = (): Service =>
    new Service({
      name: 'blocking',
      host,
      registry,
      budgets,
      manager: { cleanupHost: () => void cleanedUp.push(host) },
      newRequestServer: serverOn('blocking'),
      opsServer: serverOn('blocking-ops'),
    });
  const service = make();
  await service.start();
  const client = new RpcClient(transport, { topic: 'blocking', server: host });
  return {
    service,
    registry,
    executed,
    cleanedUp,
    make,
    client,
    ops: client.prepare({ topic: 'blocking-ops' }),
  };
}

describe('a drain while methods block the event loop', () => {
  const services: Service[] = [];
  afterEach(async () => {
    await Promise.all(services.splice(0).map((service) => service.drain('the end')));
  });

  it('answers on ops what is asked for before its tasks have ended, and leaves the rest to the next start, nothing twice (GS-78, GS-1, GS-2, GS-16)', async () => {
    const { service, registry, executed, make, client, ops } = await blockingHost('a');
    const task = registry.open({ name: 'build' });
    const before = client.call({}, 'work', { number: 1 });
    const drained = service.drain('SIGTERM');
    const during = [2, 3].map((number) => ops.call({}, 'work', { number }));
    await client.cast({}, 'work', { number: 4 });
    expect(await Promise.all(during)).to.deep.equal([2, 3]);
    task.end();
    const report = await drained;
    expect([report.outcome, report.problems, registry.size]).to.deep.equal(['clean', [], 0]);
    expect(executed).to.not.include(4);
    const next = make();
    services.push(next);
    await next.start();
    expect(await before).to.equal(1);
    await next.registry.whenIdle();
    expect([...executed].sort()).to.deep.equal([1, 2, 3, 4]);
  });

  it('keeps its limits when a task hangs and the loop is blocked again and again, and says what is left (GS-78, GS-69, GS-80, GS-84)', async () => {
    const { service, registry, executed, cleanedUp, ops } = await blockingHost('b');
    registry.open({ name: 'hangs' });
    const over = new AbortController();
    let answered = 0;
    const busy = (async (): Promise<void> => {
      for (let number = 0; !over.signal.aborted; number += 1) {
        await ops.call({}, 'work', { number }, over).then(
          () => (answered += 1),
          () => undefined, // the ops server has stopped: it waits for a next start
        );
      }
    })();
    const startedMs = performance.now();
    const report = await service.drain('SIGTERM');
    expect(performance.now() - startedMs).to.be.below(budgets.gracefulShutdownTimeoutMs + LATE_MS);
    const executedAtExit = executed.length;
    expect(executedAtExit).to.be.above(2);
    expect(report.unfinished.map(({ name }) => name)).to.deep.equal(['hangs']);
    expect(report.outcome).to.not.equal('clean');
    expect(cleanedUp).to.deep.equal(['b']);
    for (const { name, durationMs, limitMs } of report.steps)
      expect(durationMs, name).to.be.below(limitMs + LATE_MS);
    over.abort();
    await busy;
    expect(executed).to.have.length(executedAtExit); // nothing began after the end
    expect(answered).to.equal(executedAtExit);
  });
});

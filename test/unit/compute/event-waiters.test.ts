import { expect } from 'chai';
import { describe, it } from 'mocha';
import { InstanceExternalEvent, type InstanceExternalEventFields } from '@ebbgate/compute';
import { EventWaiters } from '#compute/compute/event-waiters.js';

function event(more: Partial<InstanceExternalEventFields> = {}): InstanceExternalEvent {
  const fields = { instance_uuid: 'i', name: 'network-vif-plugged', status: 'completed', tag: 'p1' } as const;
  return InstanceExternalEvent.create({ ...fields, ...more });
}

async function codeOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => (error as { code?: unknown }).code,
  );
}

describe('waiting for external events', () => {
  it('resolves when every expected one has come, also before anybody waits', async () => {
    const waiters = new EventWaiters();
    const awaited = waiters.expect('i', 'network-vif-plugged', ['p1', 'p2']);
    expect(waiters.deliver(event())).to.equal(true);
    const waiting = awaited.wait({ timeoutMs: 1000 });
    expect(waiters.deliver(event({ tag: 'p2' }))).to.equal(true);
    await waiting;
    expect(waiters.size).to.equal(0);
  });

  it('does not take one for another', () => {
    const waiters = new EventWaiters();
    const awaited = waiters.expect('i', 'network-vif-plugged', ['p1']);
    expect(waiters.deliver(event({ tag: 'p3' }))).to.equal(false);
    expect(waiters.deliver(event({ instance_uuid: 'j' }))).to.equal(false);
    expect(waiters.deliver(event({ name: 'network-changed' }))).to.equal(false);
    awaited.cancel();
    expect(waiters.deliver(event())).to.equal(false);
  });

  it('wakes all that wait for the same event', async () => {
    const waiters = new EventWaiters();
    const both = [1, 2].map(() =>
      waiters.expect('i', 'network-vif-plugged', ['p1']).wait({ timeoutMs: 1000 }),
    );
    waiters.deliver(event());
    expect(await Promise.all(both)).to.have.length(2);
  });

  it('fails when the event says so, when the time is over, and when the signal aborts', async () => {
    const waiters = new EventWaiters();
    const failed = waiters.expect('i', 'network-vif-plugged', ['p1']);
    waiters.deliver(event({ status: 'failed' }));
    expect(await codeOf(failed.wait({ timeoutMs: 1000 }))).to.equal('ERR_EXTERNAL_EVENT');
    const late = waiters.expect('i', 'network-vif-plugged', ['p1']).wait({ timeoutMs: 1 });
    expect(await codeOf(late)).to.equal('ERR_EXTERNAL_EVENT');
    const abort = new AbortController();
    const { signal } = abort;
    const aborted = waiters.expect('i', 'network-vif-plugged', ['p1']).wait({ timeoutMs: 1000, signal });
    abort.abort();
    expect(await codeOf(aborted)).to.equal('ERR_ABORTED');
    expect(waiters.size).to.equal(0);
  });

  it('waits for nothing where nothing is expected', async () => {
    await new EventWaiters().expect('i', 'network-vif-plugged', []).wait({ timeoutMs: 1 });
    expect(new EventWaiters().size).to.equal(0);
  });
});

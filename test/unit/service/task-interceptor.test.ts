import { inspect } from 'node:util';
import { RequestContext } from '@ebbgate/core';
import type { ServerInterceptor, ServerRequest } from '@ebbgate/rpc';
import { taskInterceptor, TaskRegistry } from '@ebbgate/service';
import { expect } from 'chai';
import { describe, it } from 'mocha';

function request(method: string, args: Record<string, unknown> = {}): ServerRequest {
  const context = new RequestContext({ request_id: 'req-1' });
  const { topic, server } = { topic: 'compute', server: 'a' };
  return {
    method,
    args,
    context,
    namespace: null,
    version: '1.0',
    topic,
    server,
    isCall: true,
    messageId: 'm-1',
  };
}

/** What was in the registry while the request was served. */
async function during(interceptor: ServerInterceptor, registry: TaskRegistry, served: ServerRequest) {
  let tasks: ReturnType<TaskRegistry['snapshot']> = [];
  await interceptor(served, () => {
    tasks = registry.snapshot();
    return Promise.resolve(undefined);
  });
  return tasks;
}

describe('task interceptor', () => {
  it('records a request while its handler runs: name, start, request id, instance (GS-95)', async () => {
    const registry = new TaskRegistry();
    const [task] = await during(
      taskInterceptor(registry),
      registry,
      request('resize_instance', { instance: { uuid: 'i-1' } }),
    );
    expect(task).to.include({ name: 'resize_instance', kind: 'handler', requestId: 'req-1', subject: 'i-1' });
    expect(registry.size).to.equal(0);
  });

  it('passes the result and the error on, and counts failures as failed (GS-98)', async () => {
    const registry = new TaskRegistry();
    const interceptor = taskInterceptor(registry);
    expect(await interceptor(request('a'), () => Promise.resolve('result'))).to.equal('result');
    const failing = interceptor(request('b'), () => Promise.reject(new Error('no'))) as Promise<unknown>; // as the method's
    const failure = await failing.catch((error: unknown) => error);
    expect(failure).to.be.an('error').with.property('message', 'no');
    expect(registry.counts).to.deep.equal({ opened: 2, completed: 1, failed: 1, aborted: 0 });
  });

  it('makes no promise for a method that makes none (GS-88, GS-98)', () => {
    const registry = new TaskRegistry();
    const interceptor = taskInterceptor(registry);
    expect(interceptor(request('a'), () => 'result')).to.equal('result');
    const throws = (): never => {
      throw new RangeError('no');
    };
    expect(() => interceptor(request('b'), throws)).to.throw(RangeError);
    expect(registry.counts).to.deep.equal({ opened: 2, completed: 1, failed: 1, aborted: 0 });
    expect(registry.size).to.equal(0);
  });

  it('waits for what only looks like a promise, and has it begin once (GS-98)', async () => {
    const registry = new TaskRegistry();
    let begun = 0;
    const lazy = {
      then: (resolve: (value: string) => void): void => {
        begun += 1;
        setImmediate(resolve, 'late');
      },
    };
    const outcome = taskInterceptor(registry)(request('a'), () => lazy);
    expect(registry.size).to.equal(1);
    expect(await outcome).to.equal('late');
    expect([begun, registry.counts.completed]).to.deep.equal([1, 1]);
  });

  for (const instance of [null, undefined, 7, {}, [], { uuid: 3 }, Object.create({ uuid: 'inherited' })]) {
    it(`serves a request whose instance is ${inspect(instance)} (B14, GS-95)`, async () => {
      const registry = new TaskRegistry();
      const [task] = await during(taskInterceptor(registry), registry, request('check', { instance }));
      expect(task).to.include({ name: 'check', subject: null });
    });
  }

  it('serves a request whose subject cannot be found out (GS-95)', async () => {
    const registry = new TaskRegistry();
    const subject = (): string => {
      throw new TypeError('no such member');
    };
    const [task] = await during(taskInterceptor(registry, { subject }), registry, request('check'));
    expect(task).to.include({ name: 'check', subject: null });
  });

  it('leaves marked methods out, in every version and namespace (GS-99)', async () => {
    const registry = new TaskRegistry();
    const interceptor = taskInterceptor(registry, { skip: (method) => method === 'get_host_uptime' });
    expect(await during(interceptor, registry, request('get_host_uptime'))).to.deep.equal([]);
    const old = { ...request('get_host_uptime'), version: '5.0', namespace: 'old' };
    expect(await during(interceptor, registry, old)).to.deep.equal([]);
    expect(await during(interceptor, registry, request('other'))).to.have.length(1);
    expect(registry.counts.opened).to.equal(1);
  });
});

import { createTransport, type Transport } from '@ebbgate/core';
import { RpcClient, RpcServer, type RpcServerOptions } from '@ebbgate/rpc';
import { Service, taskInterceptor, TaskRegistry } from '@ebbgate/service';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { deferred } from './fakes.js';

let urls = 0;

/** Lets so many turns of the event loop pass. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('a service with two RPC servers, draining', () => {
  let transport: Transport;
  let client: RpcClient;
  beforeEach(async () => {
    urls += 1;
    transport = createTransport(`memory://service-drain-${urls}/`);
    await transport.connect();
    client = new RpcClient(transport, { topic: 'compute', server: 'a' }, { timeoutMs: 2000 });
  });
  afterEach(() => transport.close());

  /** One host: the same endpoint on both servers, both recorded in one registry. */
  function host(endpoint: object, options: RpcServerOptions = {}) {
    const registry = new TaskRegistry();
    const interceptors = [taskInterceptor(registry)];
    const server = (topic: string): RpcServer =>
      new RpcServer(transport, { topic, server: 'a' }, [endpoint], { ...options, interceptors });
    const [newRequestServer, opsServer] = [server('compute'), server('compute-ops')];
    const service = new Service({ name: 'compute', host: 'a', registry, newRequestServer, opsServer });
    return { service, registry, newRequestServer, opsServer };
  }

  it('answers the call that runs, and follow-ups on compute-ops, while a new request stays queued for the next start (GS-10, GS-11, GS-12, GS-14, GS-15, GS-16, GS-17, GS-27, GS-28, GS-29, GS-30, GS-31, GS-33, GS-35, GS-75, COMP-01)', async () => {
    const began = deferred();
    const end = deferred();
    const built: string[] = [];
    const endpoint = {
      live_migration: async () => {
        began.resolve();
        await end.promise;
        return 'migrated';
      },
      check: () => 'same endpoint',
      build: (_context: unknown, { name }: { name: string }) => void built.push(name),
    };
    const { service } = host(endpoint, { slots: 1, prefetch: 1 }); // each has one of its own
    await service.start();
    const ops = client.prepare({ topic: 'compute-ops' });
    expect(await ops.call({}, 'check')).to.equal(await client.call({}, 'check'));

    const migration = client.call({}, 'live_migration');
    await began.promise;
    expect(await ops.call({}, 'check')).to.equal('same endpoint');
    const stopped = new Promise<void>((resolve) => {
      service.events.on('step', ({ name, phase }) => {
        if (name === 'tasks' && phase === 'started') resolve();
      });
    });
    const drained = service.drain('SIGTERM');
    await stopped;
    await client.cast({}, 'build', { name: 'queued' });
    expect(await ops.call({}, 'check')).to.equal('same endpoint');
    end.resolve();
    expect(await migration).to.equal('migrated');
    expect(await drained).to.include({ outcome: 'clean' });
    expect(built).to.deep.equal([]);

    const next = host(endpoint); // the same queues
    const done = new Promise<void>((resolve) => next.registry.events.on('ended', () => resolve()));
    await next.service.start();
    await done;
    expect(built).to.deep.equal(['queued']);
    await next.service.drain('end');
  });

  it('runs what was fetched and had no slot yet, before it cleans up (GS-13, GS-17, COMP-02)', async () => {
    const first = deferred();
    const began = deferred();
    const ran: string[] = [];
    const endpoint = {
      work: async (_context: unknown, { name }: { name: string }) => {
        ran.push(name);
        began.resolve();
        if (name === 'first') await first.promise;
        return name;
      },
    };
    // Between two requests nothing is in the task registry for a while, as with a journal, or a reply that takes its time.
    const beforeAccept = (): Promise<void> => turns(20);
    const { service, newRequestServer } = host(endpoint, { slots: 1, beforeAccept });
    await service.start();
    const calls = ['first', 'second', 'third'].map((name) => client.call({}, 'work', { name }));
    await began.promise;
    while (newRequestServer.waiting < 2) await turns(1);
    let ranAtCleanup: string[] = [];
    service.events.on('step', ({ name, phase }) => {
      if (name === 'cleanup' && phase === 'started') ranAtCleanup = [...ran];
    });
    const drained = service.drain('SIGTERM');
    first.resolve();
    expect(await Promise.all(calls)).to.deep.equal(['first', 'second', 'third']);
    expect(await drained).to.include({ outcome: 'clean', completed: 3 });
    expect(ranAtCleanup).to.deep.equal(['first', 'second', 'third']);
  });

  it('waits for the work that a finished cast has left in the background, fed by events on compute-ops (GS-3, GS-72, GS-73, GS-74, COMP-02)', async () => {
    const began = deferred();
    const plugged = deferred();
    let active = false;
    const endpoint = {
      build: () => {
        void registry.track({ name: 'build_instance', instance: 'i-1' }, async () => {
          began.resolve();
          await plugged.promise;
          active = true;
        });
      },
      external_instance_event: () => {
        plugged.resolve();
      },
    };
    const { service, registry } = host(endpoint);
    await service.start();
    await client.cast({}, 'build');
    await began.promise;
    while (registry.size > 1) await turns(1); // the cast itself is over
    const drained = service.drain('SIGTERM');
    await turns(20);
    expect(service.snapshot()).to.include({ step: 'tasks' });
    await client.prepare({ topic: 'compute-ops' }).cast({}, 'external_instance_event');
    expect(await drained).to.include({ outcome: 'clean' });
    expect(active).to.equal(true);
  });

  it('ends under a constant stream of new requests, and serves none after that (GS-12, CORE-04)', async () => {
    let served = 0;
    const { service } = host({ ping: () => void (served += 1) });
    await service.start();
    const stream = setInterval(() => void client.cast({}, 'ping'), 1);
    while (served < 10) await turns(1);
    expect(await service.drain('SIGTERM')).to.include({ outcome: 'clean' });
    const servedThen = served;
    clearInterval(stream);
    await client.cast({}, 'ping');
    await turns(20);
    expect(served).to.equal(servedThen);
  });

  it('is no concern of clients: they need no server, and serve none (GS-18)', async () => {
    const { service } = host({ ping: () => 'pong' });
    await service.start();
    const other = createTransport(`memory://service-drain-${urls}/`);
    await other.connect();
    expect(await new RpcClient(other, { topic: 'compute', server: 'a' }).call({}, 'ping')).to.equal('pong');
    await other.close();
    expect(await service.drain('SIGTERM')).to.include({ outcome: 'clean' });
  });
});

import { get, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { type HealthAddress, HealthServer, Service, type TaskRecord, TaskRegistry } from '@ebbgate/service';
import { silentLogger } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { deferred, fakeParts } from './fakes.js';

function addressOf(service: Service): HealthAddress {
  if (!service.healthAddress) throw new Error('the health endpoints do not listen');
  return service.healthAddress;
}

async function ask(
  address: HealthAddress,
  path: string,
  method = 'GET',
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ ...address, path, method, agent: false }, resolve)
      .once('error', reject)
      .end();
  });
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return {
    status: response.statusCode ?? 0,
    body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
  };
}

const health = { port: 0 };

describe('health endpoints', () => {
  it('tell live from the first moment, ready when the service runs (COMP-09)', async () => {
    const initialised = deferred();
    const began = deferred();
    const manager = {
      initHost: (): Promise<void> => {
        began.resolve();
        return initialised.promise;
      },
    };
    const service = new Service({ ...fakeParts(), manager, health });
    const started = service.start();
    await began.promise;
    const address = addressOf(service);
    expect(address.host).to.equal('127.0.0.1');
    expect((await ask(address, '/livez')).status).to.equal(200);
    const early = await ask(address, '/readyz');
    expect(early.status).to.equal(503);
    expect(early.body).to.include({ state: 'starting', ready: false });
    initialised.resolve();
    await started;
    expect(await ask(address, '/readyz')).to.deep.include({ status: 200 });
    await service.drain('end');
  });

  it('can be open before there is a service, which takes them over, and closes them at its end', async () => {
    const { snapshot } = new Service({ ...fakeParts() }).health();
    const waiting = { live: true, ready: false, snapshot: { ...snapshot, reason: 'waits for its database' } };
    const early = new HealthServer(health, () => waiting, silentLogger);
    await early.open();
    const address = early.address;
    if (!address) throw new Error('it does not listen');
    expect((await ask(address, '/livez')).status).to.equal(200);
    const unready = await ask(address, '/readyz');
    expect([unready.status, unready.body['reason']]).to.deep.equal([503, 'waits for its database']);
    const service = new Service({ ...fakeParts(), health: early });
    await service.start();
    expect(service.healthAddress).to.deep.equal(address);
    expect((await ask(address, '/readyz')).status).to.equal(200);
    await service.drain('end');
    expect(early.address).to.equal(undefined);
  });

  it('answer /metrics with what they are given, and a failure without its cause; without it there is none', async () => {
    let fails = false;
    const metrics = async (): Promise<{ contentType: string; text: string }> => {
      if (fails) throw new Error('inner secret');
      return { contentType: 'text/plain', text: '{"seen": 1}' };
    };
    const service = new Service({ ...fakeParts(), health: { port: 0, metrics } });
    await service.start();
    const address = addressOf(service);
    expect(await ask(address, '/metrics')).to.deep.equal({ status: 200, body: { seen: 1 } });
    expect((await ask(address, '/metrics', 'POST')).status).to.equal(405);
    fails = true;
    const failed = await ask(address, '/metrics');
    expect(failed.status).to.equal(500);
    expect(JSON.stringify(failed.body)).to.not.contain('secret');
    await service.drain('end');
    const without = new Service({ ...fakeParts(), health });
    await without.start();
    expect((await ask(addressOf(without), '/metrics')).status).to.equal(404);
    await without.drain('end');
  });

  it('tell not ready the moment a drain begins, with state, step and tasks, and are closed last (COMP-01, COMP-02)', async () => {
    const lastSeen: number[] = [];
    const service: Service = new Service({
      ...fakeParts(),
      health,
      onExit: async () => {
        lastSeen.push((await ask(address, '/livez')).status, (await ask(address, '/readyz')).status);
      },
    });
    await service.start();
    const address = addressOf(service);
    const task = service.registry.open({ name: 'live_migration', instance: 'i-1', progress: () => 0.25 });
    void service.drain('SIGTERM');
    expect(service.health()).to.include({ live: true, ready: false });
    const { status, body } = await ask(address, '/readyz');
    expect(status).to.equal(503);
    expect(body).to.include({ state: 'draining', step: 'tasks', reason: 'SIGTERM', taskCount: 1 });
    expect(body['budgetLeftMs']).to.be.within(1, 300);
    expect(body).to.have.nested.property('tasks[0].subject', 'i-1');
    expect(body).to.have.nested.property('tasks[0].progress', 0.25);
    expect((await ask(address, '/livez')).status).to.equal(200);
    task.end();
    await service.exited;
    expect(lastSeen).to.deep.equal([200, 503]);
    expect(service.healthAddress).to.equal(undefined);
    expect(service.health()).to.include({ live: false, ready: false });
    const refused = await ask(address, '/livez').catch(
      (error: unknown) => (error as NodeJS.ErrnoException).code,
    );
    expect(refused).to.equal('ECONNREFUSED');
  });

  it('are not held by idle connections, nor by half a request (CORE-05)', async () => {
    const service = new Service({ ...fakeParts(), health });
    await service.start();
    const address = addressOf(service);
    const half = connect(address.port, address.host);
    half.on('error', () => undefined);
    const closed = new Promise((resolve) => half.once('close', resolve));
    await new Promise<void>((resolve) => half.write('GET /readyz HTTP/1.1\r\nHost: ', () => resolve()));
    // Once this is answered, the server has seen the half request too.
    const response = await new Promise<IncomingMessage>((resolve) => {
      get({ ...address, path: '/livez', headers: { connection: 'keep-alive' } }, resolve);
    });
    response.resume();
    await new Promise((resolve) => response.once('end', resolve));
    const startedAt = performance.now();
    await service.drain('end');
    await closed;
    expect(performance.now() - startedAt).to.be.lessThan(1000);
  });

  it('survive garbage, unknown paths and other methods', async () => {
    const service = new Service({ ...fakeParts(), health });
    await service.start();
    const address = addressOf(service);
    const answer = await new Promise<string>((resolve, reject) => {
      let text = '';
      const socket = connect(address.port, address.host, () => socket.write('\0\u0001 not http\r\n\r\n'));
      socket.on('data', (data) => (text += data.toString()));
      socket.on('close', () => resolve(text)).on('error', reject);
    });
    expect(answer).to.match(/^HTTP\/1.1 400 /);
    expect((await ask(address, '/')).status).to.equal(404);
    expect((await ask(address, '/__proto__')).status).to.equal(404);
    expect((await ask(address, '/livez', 'POST')).status).to.equal(405);
    expect(await ask(address, '/readyz?verbose', 'HEAD')).to.deep.equal({ status: 200, body: {} });
    await service.drain('end');
  });

  it('that cannot listen make the start fail, and everything is closed', async () => {
    const first = new Service({ ...fakeParts(), health });
    await first.start();
    const calls: string[] = [];
    const second = new Service({ ...fakeParts(calls), health: { port: addressOf(first).port } });
    const failure = await second.start().catch((error: unknown) => (error as NodeJS.ErrnoException).code);
    expect(failure).to.equal('EADDRINUSE');
    expect((await second.exited).outcome).to.equal('start-failed');
    expect(calls).to.include('cleanupHost').and.not.include('initHost');
    await first.drain('end');
  });

  it('cut off clients that send half a request, and wait for the end of none (CORE-05, AMQP-01)', async function () {
    this.timeout(20_000); // a client may take 5 s for its request
    const service = new Service({ ...fakeParts(), health });
    await service.start();
    const { port, host } = addressOf(service);
    const ended = async (text: string): Promise<void> => {
      const socket = connect({ port, host, allowHalfOpen: true }, () => socket.write(text));
      socket.resume().on('error', () => undefined);
      await new Promise((resolve) => socket.once('end', resolve));
      // It does not close its side: writing on shows that the server has closed all of it.
      const writing = setInterval(() => socket.write('x'), 5);
      await new Promise((resolve) => socket.once('close', resolve));
      clearInterval(writing);
    };
    await ended('not http\r\n\r\n');
    const startedAt = performance.now();
    await Promise.all([ended('GET /readyz HTTP/1.1\r\nHost: '), ended('')]);
    expect(performance.now() - startedAt).to.be.lessThan(10_000);
    expect(service.state).to.equal('running');
    await service.drain('end');
  });

  it('answer, and a drain goes on, whatever is told of a task (COMP-02)', async () => {
    const registry = new TaskRegistry();
    const service = new Service({ ...fakeParts(), health, registry });
    await service.start();
    const odd: object = { name: 7, instance: 8, requestId: 9, progress: () => 10n };
    const task = registry.open(odd as TaskRecord); // as from a caller without types
    const { status, body } = await ask(addressOf(service), '/readyz');
    expect(status).to.equal(200);
    expect(body).to.have.nested.property('tasks[0].name', '7');
    const drained = service.drain('end');
    task.end();
    expect((await drained).outcome).to.equal('clean');
  });
});

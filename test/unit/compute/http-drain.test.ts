import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { ConfigurationError, createTransport, silentLogger } from '@ebbgate/core';
import { MemoryRecords } from '@ebbgate/compute';
import { defaultBudgets } from '@ebbgate/service';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { type ApiService, type ApiServiceOptions, apiService } from '#compute/http/api-service.js';
import { openAccess } from '#compute/http/auth.js';
import { Policy } from '#compute/http/policy.js';
import { ProcessMetrics } from '#compute/observability/process-metrics.js';
import { deferred } from '../../support/deferred.js';

let apis = 0;

function newApi(records: MemoryRecords, more: Partial<ApiServiceOptions> = {}): ApiService {
  apis += 1;
  return apiService({
    name: 'api',
    transport: createTransport(`memory://http-drain-${apis}/`),
    records,
    listen: { host: '127.0.0.1', port: 0 },
    validator: openAccess,
    policy: new Policy(new Map()),
    logger: silentLogger,
    api: {},
    serviceDownTimeMs: 60_000,
    rateLimit: 0,
    budgets: defaultBudgets,
    health: { port: 0 },
    ...more,
  });
}

function portOf(api: ApiService): number {
  return api.server.address?.port ?? 0;
}

async function get(
  port: number,
  path: string,
): Promise<{ status: number; text: string; headers: IncomingMessage['headers'] }> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, agent: false }, resolve).once('error', reject).end();
  });
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode ?? 0, text, headers: response.headers };
}

async function put(port: number, path: string, body: object): Promise<number> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'PUT',
    headers,
    body: JSON.stringify(body),
  });
  return answer.status;
}

async function connected(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** Resolves when it is closed, in whichever way. */
function closing(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()));
}

/** An API whose list waits, with one request in it. */
async function withRequest(
  work: (test: {
    readonly api: ApiService;
    readonly answer: Promise<{ status: number; headers: IncomingMessage['headers'] }>;
    readonly finish: () => void;
  }) => Promise<void>,
): Promise<void> {
  const records = new MemoryRecords((error) => {
    throw error;
  });
  const began = deferred();
  const held = deferred();
  const { find } = records.services;
  records.services.find = async (where) => {
    began.resolve();
    await held.promise;
    return find(where);
  };
  const api = newApi(records);
  await api.service.start();
  const answer = get(portOf(api), '/v2.1/os-services');
  await began.promise;
  try {
    await work({ api, answer, finish: held.resolve });
  } finally {
    held.resolve();
    await api.service.drain('the test is over');
  }
}

describe('compute: drain of the HTTP API', () => {
  it('answers what was begun, closes idle connections at once, and ends (HTTP-01)', () =>
    withRequest(async ({ api, answer, finish }) => {
      const port = portOf(api);
      const silent = await connected(port);
      const half = await connected(port);
      half.write('GET /v2.1/os-services HTTP/1.1\r\nHost: loc');
      const closed = Promise.all([silent, half].map(closing));
      const drained = api.service.drain('SIGTERM');
      await closed;
      const refused = connect(port, '127.0.0.1');
      expect(((await once(refused, 'error')) as [Error & { code: string }])[0].code).to.equal('ECONNREFUSED');
      expect(api.service.snapshot().tasks.map(({ name }) => name)).to.deep.equal(['GET /v2.1/os-services']);
      finish();
      const { status, headers } = await answer;
      expect([status, headers.connection]).to.deep.equal([200, 'close']);
      const report = await drained;
      expect([report.outcome, report.unfinished, report.problems]).to.deep.equal(['clean', [], []]);
    }));

  it('does no new work on connections that are still open, and is not ready from the first moment (HTTP-02)', () =>
    withRequest(async ({ api, finish }) => {
      const health = api.service.healthAddress?.port ?? 0;
      expect((await get(health, '/readyz')).status).to.equal(200);
      const socket = await connected(portOf(api));
      const text = 'GET /v2.1/os-services HTTP/1.1\r\nHost: localhost\r\n\r\n';
      socket.write(text);
      while (api.service.snapshot().tasks.length < 2) await new Promise((resolve) => setImmediate(resolve));
      let answers = '';
      socket.setEncoding('utf8').on('data', (chunk: string) => {
        answers += chunk;
      });
      const drained = api.service.drain('SIGTERM');
      expect((await get(health, '/readyz')).status).to.equal(503);
      expect((await get(health, '/livez')).status).to.equal(200);
      socket.write(text); // behind the one that is in progress
      await new Promise((resolve) => setImmediate(resolve));
      finish();
      await closing(socket);
      expect(answers.match(/HTTP\/1\.1 \d+/g)?.[0]).to.equal('HTTP/1.1 200');
      expect(answers).to.not.match(/HTTP\/1\.1 200[^]*HTTP\/1\.1 200/);
      await drained;
      expect(api.server.address).to.equal(undefined);
    }));

  it('does not wait for a request longer than it may, and says so (HTTP-01)', () =>
    withRequest(async ({ api, answer }) => {
      const cut = answer.catch((error: unknown) => (error as { code?: string }).code);
      const report = await api.service.drain('SIGTERM', { withinMs: 100 });
      expect(['timed-out', 'unfinished']).to.include(report.outcome);
      expect(report.unfinished.map(({ name }) => name)).to.deep.equal(['GET /v2.1/os-services']);
      expect(await cut).to.equal('ECONNRESET');
    }));

  it('listens on loopback only while everybody is an admin', () => {
    const records = new MemoryRecords(() => undefined);
    for (const host of ['0.0.0.0', '::', '192.0.2.1']) {
      expect(() => newApi(records, { listen: { host, port: 0 } })).to.throw(
        ConfigurationError,
        '--token-file',
      );
    }
  });

  it('tells services, tasks, calls and requests as metrics, beside the health endpoints', async () => {
    const records = new MemoryRecords((error) => {
      throw error;
    });
    const metrics = new ProcessMetrics();
    metrics.hear();
    const api = newApi(records, { metrics, health: { port: 0, metrics: () => metrics.text() } });
    await api.service.start();
    try {
      const now = { state: 'running', reportedAtMs: Date.now() };
      await records.services.register({ binary: 'compute', host: 'a', ...now });
      await records.services.register({ binary: 'compute', host: 'b', ...now, state: 'draining' });
      await records.services.register({ binary: 'compute', host: 'c', ...now, reportedAtMs: 1 });
      await records.services.register({ binary: 'compute', host: 'd', ...now });
      await records.services.update('compute', 'd', { forcedDown: true });
      await get(portOf(api), '/v2.1/os-services');
      await put(portOf(api), '/v2.1/os-services/disable', { binary: 'nova-compute', host: 'a' });
      const { status, text, headers } = await get(api.service.healthAddress?.port ?? 0, '/metrics');
      expect([status, headers['content-type']]).to.deep.equal([
        200,
        'text/plain; version=0.0.4; charset=utf-8',
      ]);
      for (const line of [
        'ebbgate_services{binary="nova-compute",state="up"} 1',
        'ebbgate_services{binary="nova-compute",state="draining"} 1',
        'ebbgate_services{binary="nova-compute",state="down"} 1',
        'ebbgate_services{binary="nova-compute",state="forced_down"} 1',
        'ebbgate_tasks{kind="handler"} 0',
        'ebbgate_rpc_calls_total{method="set_host_enabled",kind="call",outcome="ERR_UNDELIVERABLE"} 1',
        'ebbgate_rpc_call_duration_seconds_count{method="set_host_enabled",kind="call"} 1',
        'ebbgate_http_requests_total{method="GET",route="/v2.1/os-services",status="200"} 1',
      ]) {
        expect(text).to.contain(`${line}\n`);
      }
      expect(await get(portOf(api), '/metrics')).to.include({ status: 404 });
    } finally {
      metrics.close();
      await api.service.drain('the test is over');
    }
  });
});

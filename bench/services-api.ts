// npm run bench -- services-api [--services N] [--times N]: the services API on SQLite (a file; each commit waits for the
// disk), the client in a thread of its own. The list of N services as long as the server takes for it, from the request to the
// last byte handed on; force-downs a second, also without HTTP; and who of ten thousand services is up.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { createTransport, silentLogger } from '@ebbgate/core';
import { type LocalRecords, Liveness, openRecords } from '@ebbgate/compute';
import { defaultBudgets } from '@ebbgate/service';
import { apiService } from '#compute/http/api-service.js';
import { openAccess } from '#compute/http/auth.js';
import { Policy } from '#compute/http/policy.js';
import { keep, median, rate, table } from './lib/measure.js';

const { values } = parseArgs({
  options: { services: { type: 'string', default: '1000' }, times: { type: 'string', default: '300' } },
});
const services = Number(values.services);
const times = Number(values.times);
const MANY = 10_000;
const CLIENTS = 8;

const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });

async function send(port: number, method: string, path: string, body?: object): Promise<void> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = body ? { 'content-type': 'application/json' } : {};
    const asked = request({ host: '127.0.0.1', port, method, path, agent, headers }, resolve);
    asked.once('error', reject).end(body && JSON.stringify(body));
  });
  response.resume();
  await once(response, 'end');
  if (response.statusCode !== 200) throw new Error(`${method} ${path}: ${response.statusCode}`);
}

async function register(records: LocalRecords, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += 1) {
    const its = { binary: 'compute', host: `host-${at}`, state: 'running', reportedAtMs: Date.now() };
    await records.services.register(its);
  }
}

/** What the thread of the client does. */
interface Task {
  readonly what: 'list' | 'force-down';
  readonly port: number;
}

/** Resolves with how often a second. */
async function inThread(what: Task['what'], port: number): Promise<number> {
  const worker = new Worker(new URL(import.meta.url), {
    argv: process.argv.slice(2),
    workerData: { what, port },
  });
  const [perSecond] = (await once(worker, 'message')) as [number];
  await worker.terminate();
  return perSecond;
}

async function client({ what, port }: Task): Promise<void> {
  let number = 0;
  const forceDown = (): Promise<void> => {
    number += 1;
    const body = { binary: 'nova-compute', host: `host-${number % services}`, forced_down: true };
    return send(port, 'PUT', '/v2.1/os-services/force-down', body);
  };
  const list = (): Promise<void> => send(port, 'GET', '/v2.1/os-services');
  if (what === 'force-down') await rate(forceDown, times, CLIENTS); // warms up
  const perSecond = what === 'list' ? await rate(list, times, 1) : await rate(forceDown, times * 10, CLIENTS);
  parentPort?.postMessage(perSecond);
}

async function main(folder: string): Promise<void> {
  const records = await openRecords(`sqlite:///${join(folder, 'nova.sqlite')}`, { logger: silentLogger });
  await register(records, 0, services);
  const { service, server } = apiService({
    name: 'api',
    transport: createTransport('memory://bench-services-api/'),
    records,
    listen: { host: '127.0.0.1', port: 0 },
    validator: openAccess,
    policy: new Policy(new Map()),
    logger: silentLogger,
    api: {},
    serviceDownTimeMs: 60_000,
    rateLimit: 0,
    budgets: defaultBudgets,
    onExit: () => records.close(),
  });
  await service.start();
  const port = server.address?.port ?? 0;
  const lists: number[] = [];
  let openedAt = 0;
  service.registry.events.on('opened', () => {
    openedAt = performance.now();
  });
  service.registry.events.on('ended', () => {
    lists.push(performance.now() - openedAt);
  });
  await inThread('list', port);
  const listMs = median(lists.splice(0).slice(times / 4)); // the first ones warm up
  const perSecond = await inThread('force-down', port);
  const down = { forcedDown: true };
  const aloneASecond = await rate(() => records.services.update('compute', 'host-1', down), times, 1);
  await register(records, services, MANY);
  const liveness = new Liveness();
  const isUpMs: number[] = [];
  for (let time = 0; time < 11; time += 1) {
    const startedAt = performance.now();
    const all = await records.services.find({});
    const up = all.filter((one) => liveness.isUp(one)).length;
    isUpMs.push(performance.now() - startedAt);
    if (all.length !== MANY || up === 0) throw new Error(`${up} of ${all.length} are up`);
  }
  await service.drain('the bench is over');
  const upMs = median(isUpMs);
  console.log(
    table([
      ['', 'figure', 'goal'],
      [`list of ${services} services, p50 on the server`, `${listMs.toFixed(2)} ms`, '< 5 ms'],
      ['force-downs on SQLite', `${perSecond.toFixed(0)} /s`, '> 300 /s'],
      ['the same without HTTP, one after another: what the disk allows', `${aloneASecond.toFixed(0)} /s`, ''],
      [`who of ${MANY} services is up, read and judged`, `${upMs.toFixed(0)} ms`, '< 200 ms'],
    ]),
  );
  keep('services-api', {
    services,
    listMs,
    forceDownsPerSecond: perSecond,
    aloneASecond,
    many: MANY,
    isUpMs: upMs,
  });
}

if (isMainThread) {
  const folder = mkdtempSync(join(tmpdir(), 'ebbgate-bench-'));
  await main(folder).finally(() => {
    rmSync(folder, { recursive: true });
  });
} else {
  await client(workerData as Task);
}

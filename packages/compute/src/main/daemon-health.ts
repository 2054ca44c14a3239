import { type Logger, ServerListenError } from '@ebbgate/core';
import { HealthServer, type Service, type ServiceHealth, type ServiceSnapshot } from '@ebbgate/service';
import type { ProcessMetrics } from '../observability/process-metrics.js';

/** What a daemon is told of its health endpoints. */
interface HealthFlags {
  readonly health?: number | undefined;
  readonly healthHost: string;
  readonly name: string;
}

/**
 * The health endpoints of a daemon that has to wait for something before it has a service: it lives, and is not ready.
 * Undefined when there are to be none.
 * @throws ServerListenError (`ERR_SERVER_LISTEN`) when the port is not free
 */
export async function openHealth(
  { health: port, healthHost: host, name }: HealthFlags,
  service: string,
  metrics: ProcessMetrics,
  logger: Logger,
): Promise<HealthServer | undefined> {
  if (port === undefined) return undefined;
  metrics.hear();
  const snapshot = waitingSnapshot(service, name);
  const waiting = () => ({ live: true, ready: false, snapshot });
  const server = new HealthServer({ port, host, metrics: () => metrics.text() }, waiting, logger);
  try {
    await server.open();
  } catch (cause) {
    throw new ServerListenError(
      `--health ${port}: ${cause instanceof Error ? cause.message : 'it is not free'}`,
      { cause },
    );
  }
  return server;
}

/**
 * How several services of one process do, as one: ready when all but the hosts are, and a host is, since operators end and
 * fence single ones.
 */
export function jointHealth(name: string, services: readonly Service[]): ServiceHealth {
  const all = services.map((service) => service.health());
  const is = (what: 'compute' | 'other') =>
    all.filter(({ snapshot }) => (snapshot.service === 'compute') === (what === 'compute'));
  const ready =
    all.length > 0 && is('other').every((one) => one.ready) && is('compute').some((one) => one.ready);
  const shown =
    all.find(({ snapshot }) => snapshot.state === 'draining') ?? all.find((one) => !one.ready) ?? all[0];
  const tasks = all.flatMap(({ snapshot }) => snapshot.tasks);
  const snapshot = shown?.snapshot ?? waitingSnapshot(name, name);
  const state = ready ? 'running' : snapshot.state;
  return { live: true, ready, snapshot: { ...snapshot, service: name, host: name, state, ready, tasks } };
}

/** Of a service that is not there yet. */
function waitingSnapshot(service: string, host: string): ServiceSnapshot {
  return {
    service,
    host,
    state: 'starting',
    ready: false,
    step: null,
    reason: 'waits for what it needs',
    drainingForMs: null,
    budgetLeftMs: null,
    tasks: [],
  };
}

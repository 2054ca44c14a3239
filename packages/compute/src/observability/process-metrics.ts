import { type Channel, subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Transport } from '@ebbgate/core';
import { type CallDiagnostic, rpcDiagnostics } from '@ebbgate/rpc';
import type { MetricsText, Service } from '@ebbgate/service';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { isKnownMethod } from './known-methods.js';
import { type SeenServices, watchServices } from './service-metrics.js';

const SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60];
const KINDS = ['handler', 'background', 'operation'] as const;
const STATES = ['idle', 'starting', 'running', 'draining', 'exited'] as const;

/**
 * The metrics of one process, for Prometheus: what it sends and serves, what runs in it, and whether it reaches its broker.
 * Labels have few values: methods of the tables, kinds, states, codes.
 */
export class ProcessMetrics {
  /** For further metrics. */
  readonly registry: Registry = new Registry();
  readonly #services = new Set<Service>();
  readonly #transports = new Set<Transport>();
  /** Of services that have ended. */
  readonly #before = { completed: 0, failed: 0, aborted: 0 };
  readonly #heard: readonly (readonly [Channel, (message: unknown) => void])[];

  constructor() {
    const sent = this.#counting('ebbgate_rpc_call', 'Calls and casts that were sent');
    const served = this.#counting('ebbgate_rpc_request', 'Requests that were served');
    this.#heard = [
      [rpcDiagnostics.client, sent],
      [rpcDiagnostics.server, served],
    ];
    this.#showTasks();
    this.#showStates();
    this.#showBroker();
  }

  /** Shows what a service does, until it has ended. */
  watch(service: Service): void {
    this.#services.add(service);
    void service.exited.then(() => {
      this.#services.delete(service);
      const { completed, failed, aborted } = service.registry.counts;
      this.#before.completed += completed;
      this.#before.failed += failed;
      this.#before.aborted += aborted;
    });
  }

  /** Shows what waits to be sent. */
  watchTransport(transport: Transport): void {
    this.#transports.add(transport);
  }

  /** Shows who is up, as the records tell it whenever somebody looks. */
  watchServices(seen: SeenServices): void {
    watchServices(this.registry, seen);
  }

  /** All of them, now. */
  async text(): Promise<MetricsText> {
    return { contentType: this.registry.contentType, text: await this.registry.metrics() };
  }

  /** From now on counts all RPC of this process, which costs each message a little. */
  hear(): void {
    for (const [channel, onMessage] of this.#heard) subscribe(channel.name, onMessage);
  }

  /** Counts no more. */
  close(): void {
    for (const [channel, onMessage] of this.#heard) unsubscribe(channel.name, onMessage);
  }

  #counting(name: string, help: string): (message: unknown) => void {
    const registers = [this.registry];
    const labelNames = ['method', 'kind', 'outcome'] as const;
    const count = new Counter({ name: `${name}s_total`, help, labelNames, registers });
    const took = new Histogram({
      ...{ name: `${name}_duration_seconds`, help: `${help}: how long they took`, buckets: SECONDS },
      ...{ labelNames: ['method', 'kind'] as const, registers },
    });
    return (message) => {
      const { method: sent, kind, outcome, code, durationMs } = message as CallDiagnostic; // of that channel
      const method = isKnownMethod(sent) ? sent : 'other';
      count.inc({ method, kind, outcome: outcome === 'ok' ? 'ok' : (code ?? 'error') });
      took.observe({ method, kind }, durationMs / 1000);
    };
  }

  #showTasks(): void {
    const present = new Gauge({
      name: 'ebbgate_tasks',
      help: 'What runs in this process, by kind',
      labelNames: ['kind'] as const,
      registers: [this.registry],
      collect: () => {
        for (const kind of KINDS) present.set({ kind }, 0);
        for (const { registry } of this.#services)
          for (const { kind } of registry.snapshot()) present.inc({ kind });
      },
    });
    const ended = new Counter({
      name: 'ebbgate_tasks_ended_total',
      help: 'What ran in this process and has ended: completed, failed, or put back',
      labelNames: ['outcome'] as const,
      registers: [this.registry],
      collect: () => {
        ended.reset();
        for (const outcome of ['completed', 'failed', 'aborted'] as const) {
          const counts = [...this.#services].map(({ registry }) => registry.counts[outcome]);
          ended.inc(
            { outcome },
            counts.reduce((sum, count) => sum + count, this.#before[outcome]),
          );
        }
      },
    });
  }

  #showStates(): void {
    const states = new Gauge({
      name: 'ebbgate_service_state',
      help: 'Services of this process by name and state: 1 for the state that each is in',
      labelNames: ['service', 'host', 'state'] as const,
      registers: [this.registry],
      collect: () => {
        states.reset();
        for (const { name: service, host, state: now } of this.#services)
          for (const state of STATES) states.set({ service, host, state }, state === now ? 1 : 0);
      },
    });
  }

  #showBroker(): void {
    const open = (): readonly Transport[] => [...this.#transports].filter(({ state }) => state !== 'closed');
    const unsent = new Gauge({
      name: 'ebbgate_unsent_messages',
      help: 'Messages that wait to be taken by the broker',
      registers: [this.registry],
      collect: () => {
        unsent.set(open().reduce((sum, { pendingSends }) => sum + pendingSends, 0));
      },
    });
    const away = new Gauge({
      name: 'ebbgate_broker_away',
      help: 'Connections to the broker that are not there, or blocked by it',
      registers: [this.registry],
      collect: () => {
        away.set(open().filter((one) => AWAY.has(one.status().connection)).length);
      },
    });
  }
}

const AWAY: ReadonlySet<string> = new Set(['connecting', 'blocked', 'disconnected']);

import type { ClientInterceptor } from '@ebbgate/rpc';
import type { MetricsText, TaskRegistry } from '@ebbgate/service';
import { MessagingError } from '@ebbgate/core';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ServiceRecord } from '../db/repositories.js';
import type { Liveness } from '../servicegroup/liveness.js';

/** What is counted, and what is looked at when somebody asks. */
export interface MetricsParts {
  /** All services. */
  readonly services: () => Promise<readonly ServiceRecord[]>;
  readonly liveness: Liveness;
  readonly tasks: TaskRegistry;
}

const RPC_SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60];
const HTTP_SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10];
const KINDS = ['handler', 'background', 'operation'] as const;

/** The metrics of one API, for Prometheus. Labels have few values: methods of the table, routes, states. */
export class HttpMetrics {
  readonly #registry = new Registry();
  readonly #rpcCalls = this.#counter('ebbgate_rpc_calls_total', 'Calls and casts that were sent', [
    'method',
    'kind',
    'outcome',
  ]);
  readonly #rpcSeconds = this.#histogram(
    'ebbgate_rpc_call_duration_seconds',
    'How long they took, until the answer; of casts until the broker had them',
    ['method', 'kind'],
    RPC_SECONDS,
  );
  readonly #requests = this.#counter('ebbgate_http_requests_total', 'Requests that were answered', [
    'method',
    'route',
    'status',
  ]);
  readonly #requestSeconds = this.#histogram(
    'ebbgate_http_request_duration_seconds',
    'How long they took',
    ['method', 'route'],
    HTTP_SECONDS,
  );

  constructor(parts: MetricsParts) {
    this.#watchServices(parts);
    this.#watchTasks(parts.tasks);
  }

  /** Counts what a client sends. */
  readonly interceptor: ClientInterceptor = async (call, next) => {
    const { method, kind } = call;
    const startedAt = performance.now();
    const told = (outcome: string): void => {
      this.#rpcCalls.inc({ method, kind, outcome });
      this.#rpcSeconds.observe({ method, kind }, (performance.now() - startedAt) / 1000);
    };
    try {
      const result = await next(call);
      told('ok');
      return result;
    } catch (error) {
      told(error instanceof MessagingError ? error.code : 'error');
      throw error;
    }
  };

  /** One request was answered. @param route - its pattern, not its path */
  answered(method: string, route: string, status: number, durationMs: number): void {
    this.#requests.inc({ method, route, status: String(status) });
    this.#requestSeconds.observe({ method, route }, durationMs / 1000);
  }

  /** All of them; rejects as the records do. */
  async text(): Promise<MetricsText> {
    return { contentType: this.#registry.contentType, text: await this.#registry.metrics() };
  }

  #watchServices({ services, liveness }: MetricsParts): void {
    const gauge = new Gauge({
      name: 'ebbgate_services',
      help: 'Services by what they are and how they do: up, draining, down or forced_down',
      labelNames: ['binary', 'state'],
      registers: [this.#registry],
      collect: async () => {
        const all = await services();
        gauge.reset();
        for (const one of all) gauge.inc({ binary: `nova-${one.binary}`, state: stateOf(one, liveness) });
      },
    });
  }

  #watchTasks(tasks: TaskRegistry): void {
    const gauge = new Gauge({
      name: 'ebbgate_tasks',
      help: 'What runs in this process, by kind',
      labelNames: ['kind'],
      registers: [this.#registry],
      collect: () => {
        for (const kind of KINDS) gauge.set({ kind }, 0);
        for (const { kind } of tasks.snapshot()) gauge.inc({ kind });
      },
    });
  }

  #counter<Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.#registry] });
  }

  #histogram<Label extends string>(
    name: string,
    help: string,
    labelNames: Label[],
    buckets: number[],
  ): Histogram<Label> {
    return new Histogram({ name, help, labelNames, buckets, registers: [this.#registry] });
  }
}

function stateOf(service: ServiceRecord, liveness: Liveness): string {
  if (service.forcedDown) return 'forced_down';
  if (!liveness.isUp(service)) return 'down';
  return service.state === 'draining' ? 'draining' : 'up';
}

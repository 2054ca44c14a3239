import { Counter, Histogram, type Registry } from 'prom-client';

const SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10];

/** The metrics of the HTTP API, for Prometheus. Labels have few values: routes, not paths. */
export class HttpMetrics {
  readonly #requests: Counter<'method' | 'route' | 'status'>;
  readonly #seconds: Histogram<'method' | 'route'>;

  /** @param registry - of the process, which shows them */
  constructor(registry: Registry) {
    const registers = [registry];
    this.#requests = new Counter({
      name: 'ebbgate_http_requests_total',
      help: 'Requests that were answered',
      labelNames: ['method', 'route', 'status'],
      registers,
    });
    this.#seconds = new Histogram({
      name: 'ebbgate_http_request_duration_seconds',
      help: 'How long they took',
      labelNames: ['method', 'route'],
      buckets: SECONDS,
      registers,
    });
  }

  /** One request was answered. @param route - its pattern, not its path */
  answered(method: string, route: string, status: number, durationMs: number): void {
    this.#requests.inc({ method, route, status: String(status) });
    this.#seconds.observe({ method, route }, durationMs / 1000);
  }
}

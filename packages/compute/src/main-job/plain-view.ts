import { RPC_TOPIC_OPS } from '../rpc/topics.js';
import { checkText, lasting, percent, seconds, serversText, taskText, verdictText } from './format.js';
import type { HostView, JobEvent, View } from './job-events.js';

type EventOf<Kind extends JobEvent['kind']> = Extract<JobEvent, { kind: Kind }>;

/** Migrations are told in steps of this size. */
const STEP = 0.2;

/** Lines for pipes and logs: what happens, when, and where. No control characters. */
export class PlainView implements View {
  readonly #write: (text: string) => void;
  readonly #names = new Map<string, string>();
  readonly #instances = new Map<string, string>();
  readonly #migrations = new Map<string, string>();
  readonly #draining = new Set<string>();
  readonly #tasksShown = new Map<string, string>();

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  show(atMs: number, event: JobEvent): void {
    for (const line of this.#lines(event)) {
      this.#write(
        line === '' || event.kind === 'verdict' ? `${line}\n` : `${seconds(atMs).padStart(8)}  ${line}\n`,
      );
    }
  }

  end(): void {
    // Every line is out already.
  }

  #lines(event: JobEvent): readonly string[] {
    switch (event.kind) {
      case 'note':
        return [event.text];
      case 'host':
        return this.#host(event);
      case 'request':
        return event.draining
          ? [`${event.host}: ${event.method} arrives on ${event.topic}.${event.host}`]
          : [];
      case 'waiting':
        return [
          `${event.host}: ${event.method} waits in the queue ${event.topic}.${event.host}: its server has stopped`,
        ];
      case 'instance':
        return this.#instance(event);
      case 'migration':
        return this.#migration(event);
      case 'exit':
        this.#draining.delete(event.host);
        return [
          `${event.host}: exits with ${event.code} (${event.report.outcome}) after ${seconds(event.report.durationMs)}`,
        ];
      case 'verdict':
        return ['', 'Verdict', ...event.checks.map(checkText), '', verdictText(event)];
    }
  }

  #host({ why, view }: EventOf<'host'>): readonly string[] {
    const { host, state } = view;
    if (why === 'server') return [`${host}: ${serversText(view, RPC_TOPIC_OPS)}`];
    if (why === 'tasks') return this.#draining.has(host) && this.#hasChanged(view) ? [this.#tasks(view)] : [];
    if (state === 'running') return [`${host}: runs; ${serversText(view, RPC_TOPIC_OPS)}`];
    if (state !== 'draining') return [];
    this.#draining.add(host);
    this.#hasChanged(view);
    return [`${host}: drains`, this.#tasks(view)];
  }

  #hasChanged({ host, tasks }: HostView): boolean {
    const shown = lasting(tasks)
      .map(({ id }) => id)
      .join();
    if (this.#tasksShown.get(host) === shown) return false;
    this.#tasksShown.set(host, shown);
    return true;
  }

  #tasks({ host, tasks }: HostView): string {
    const left = lasting(tasks);
    if (left.length === 0) return `${host}: no tasks left`;
    const list = left.map((task) => taskText(task, (uuid) => this.#names.get(uuid) ?? uuid));
    return `${host}: ${left.length} ${left.length === 1 ? 'task' : 'tasks'} left: ${list.join(', ')}`;
  }

  #instance({ uuid, name, host, vmState, taskState }: EventOf<'instance'>): readonly string[] {
    this.#names.set(uuid, name);
    const state = `${vmState}/${taskState ?? '-'} at ${host ?? 'no host'}`;
    if (this.#instances.get(uuid) === state) return [];
    this.#instances.set(uuid, state);
    return [`${name}: ${state}`];
  }

  #migration({ uuid, name, status, source, dest, progress }: EventOf<'migration'>): readonly string[] {
    const step = Math.floor(progress / STEP + 1e-9) * STEP;
    const state = status.startsWith('running') ? `${status}, ${percent(step).trim()} copied` : status;
    if (this.#migrations.get(uuid) === state) return [];
    this.#migrations.set(uuid, state);
    return [`${name}: migration ${source} -> ${dest ?? '?'} ${state}`];
  }
}

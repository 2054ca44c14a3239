import { RPC_TOPIC_OPS } from '../rpc/topics.js';
import { bar, checkText, seconds, serversText, taskText, verdictText } from './format.js';
import type { HostView, JobEvent, View } from './job-events.js';

type EventOf<Kind extends JobEvent['kind']> = Extract<JobEvent, { kind: Kind }>;

/** The terminal, as far as the view needs it. */
export interface Screen {
  write(text: string): void;
  readonly columns: number;
  readonly rows: number;
}

const FRAME_MS = 100;
const LAST_REQUESTS = 6;
const BAR_WIDTH = 30;
const ESCAPE = String.fromCharCode(27);
const BOLD = `${ESCAPE}[1m`;
const RED = `${ESCAPE}[31m`;
const GREEN = `${ESCAPE}[32m`;
const PLAIN = `${ESCAPE}[0m`;

/** One picture on a terminal, drawn again ten times a second; notes scroll above it. */
export class LiveView implements View {
  readonly #screen: Screen;
  readonly #timer: NodeJS.Timeout;
  readonly #hosts = new Map<string, { readonly view: HostView; readonly atMs: number }>();
  readonly #instances = new Map<string, EventOf<'instance'>>();
  readonly #migrations = new Map<string, EventOf<'migration'>>();
  readonly #requests: string[] = [];
  readonly #now: () => number;
  #drawn = 0;
  #ended = false;

  /** @param now - milliseconds since the job began */
  constructor(screen: Screen, now: () => number) {
    this.#screen = screen;
    this.#now = now;
    this.#timer = setInterval(() => {
      this.#draw();
    }, FRAME_MS);
  }

  show(atMs: number, event: JobEvent): void {
    switch (event.kind) {
      case 'note':
        this.#above(`${seconds(atMs).padStart(8)}  ${event.text}`);
        break;
      case 'host':
        this.#hosts.set(event.view.host, { view: event.view, atMs });
        break;
      case 'request':
        if (event.draining)
          this.#requests.push(
            `${seconds(atMs).padStart(8)}  ${event.method} arrives on ${event.topic}.${event.host}`,
          );
        break;
      case 'waiting':
        this.#requests.push(
          `${seconds(atMs).padStart(8)}  ${event.method} waits in ${event.topic}.${event.host}`,
        );
        break;
      case 'instance':
        this.#instances.set(event.uuid, event);
        break;
      case 'migration':
        this.#migrations.set(event.uuid, event);
        break;
      case 'exit':
        this.#above(
          `${seconds(atMs).padStart(8)}  ${event.host} exits with ${event.code} (${event.report.outcome})`,
        );
        break;
      case 'verdict':
        this.#verdict(event);
        break;
    }
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#timer);
  }

  #verdict(event: EventOf<'verdict'>): void {
    const { checks, holds } = event;
    this.#draw();
    this.end();
    const lines = checks.map((check) => `${check.holds ? GREEN : RED}${checkText(check)}${PLAIN}`);
    const last = `${BOLD}${holds ? GREEN : RED}${verdictText(event)}${PLAIN}`;
    this.#screen.write(['', `${BOLD}Verdict${PLAIN}`, ...lines, '', last, ''].join('\n'));
  }

  #above(line: string): void {
    this.#erase();
    this.#screen.write(`${line}\n`);
    this.#draw();
  }

  #erase(): void {
    if (this.#drawn > 0) this.#screen.write(`${ESCAPE}[${this.#drawn}A${ESCAPE}[J`);
    this.#drawn = 0;
  }

  #draw(): void {
    if (this.#ended) return;
    // More lines than the screen has could not be taken back.
    const lines = this.#picture()
      .slice(0, this.#screen.rows - 1)
      .map((line) => line.slice(0, this.#screen.columns - 1));
    this.#erase();
    this.#screen.write(`${lines.join('\n')}\n`);
    this.#drawn = lines.length;
  }

  #picture(): readonly string[] {
    const lines = [''];
    for (const { view, atMs } of this.#hosts.values()) lines.push(...this.#host(view, this.#now() - atMs));
    for (const { name, status, progress, source, dest } of this.#migrations.values()) {
      lines.push(`  ${name}  ${source} -> ${dest ?? '?'}  ${bar(progress, BAR_WIDTH)}  ${status}`);
    }
    const states = [...this.#instances.values()].map(
      ({ name, vmState, taskState, host }) => `${name} ${vmState}/${taskState ?? '-'} at ${host ?? '-'}`,
    );
    if (states.length > 0) lines.push(`  ${states.join('   ')}`);
    if (this.#requests.length > 0)
      lines.push('  Sent to a host that drains:', ...this.#requests.slice(-LAST_REQUESTS));
    return lines;
  }

  #host(view: HostView, sinceMs: number): readonly string[] {
    const lines = [`  ${view.host}  ${view.state.padEnd(8)}  ${serversText(view, RPC_TOPIC_OPS)}`];
    if (view.state !== 'draining') return lines;
    const nameOf = (uuid: string): string => this.#instances.get(uuid)?.name ?? uuid;
    for (const task of view.tasks) {
      // The picture is drawn between two events: ages go on, and progress is that of the migration's record.
      lines.push(`      task: ${taskText({ ...task, ageMs: task.ageMs + sinceMs, progress: null }, nameOf)}`);
    }
    return lines;
  }
}

import { RPC_TOPIC, RPC_TOPIC_OPS } from '../rpc/topics.js';
import { bar, checkText, flow, lasting, seconds, taskText, verdictText, wrap } from './format.js';
import type { HostView, JobEvent, View } from './job-events.js';
import { Picture, type Screen } from './picture.js';

type EventOf<Kind extends JobEvent['kind']> = Extract<JobEvent, { kind: Kind }>;

const FRAME_MS = 100;
const LAST_REQUESTS = 6;
/** With it, and names like those of the recorded request, all lines fit into 80 columns. */
const BAR_WIDTH = 24;
const NOTE_INDENT = 10;
const CHECK_INDENT = 4;
const ESCAPE = String.fromCharCode(27);
const BOLD = `${ESCAPE}[1m`;
const RED = `${ESCAPE}[31m`;
const GREEN = `${ESCAPE}[32m`;
const YELLOW = `${ESCAPE}[33m`;
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
  readonly #hasColours: boolean;
  readonly #shown: Picture;
  #ended = false;

  /** @param now - milliseconds since the job began */
  constructor(screen: Screen, now: () => number) {
    this.#screen = screen;
    this.#shown = new Picture(screen);
    this.#now = now;
    this.#hasColours = screen.hasColors?.() ?? false;
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
    const lines = checks.flatMap((check) =>
      this.#wrap(checkText(check), CHECK_INDENT).map((line) => this.#paint(check.holds ? GREEN : RED, line)),
    );
    const last = this.#wrap(verdictText(event), 0).map((line) =>
      this.#paint(`${BOLD}${holds ? GREEN : RED}`, line),
    );
    this.#screen.write(['', this.#paint(BOLD, 'Verdict'), ...lines, '', ...last, ''].join('\n'));
  }

  #above(line: string): void {
    this.#shown.erase();
    this.#screen.write(`${this.#wrap(line, NOTE_INDENT).join('\n')}\n`);
    this.#draw();
  }

  #wrap(text: string, indent: number): readonly string[] {
    return wrap(text, this.#screen.columns, indent);
  }

  #paint(colour: string, text: string): string {
    return this.#hasColours ? `${colour}${text}${PLAIN}` : text;
  }

  #draw(): void {
    if (this.#ended) return;
    this.#shown.draw(this.#picture(), (line) =>
      line.replaceAll(/\b(?:STOPPED|draining)\b/g, (word) => this.#paint(YELLOW, word)),
    );
  }

  #picture(): readonly string[] {
    const lines = [''];
    const width = Math.max(...[...this.#hosts.keys()].map((host) => host.length), 'host'.length);
    if (this.#hosts.size > 0)
      lines.push(hostRow(['host', 'state', 'new-request server', 'ops server'], width));
    for (const { view, atMs } of this.#hosts.values())
      lines.push(...this.#host(view, width, this.#now() - atMs));
    if (this.#migrations.size > 0) lines.push('');
    for (const { name, status, progress, source, dest } of this.#migrations.values()) {
      lines.push(`  ${name}  ${source} -> ${dest ?? '?'}  ${bar(progress, BAR_WIDTH)}  ${status}`);
    }
    const states = [...this.#instances.values()].map(
      ({ name, vmState, taskState, host }) => `${name} ${vmState}/${taskState ?? '-'} at ${host ?? '-'}`,
    );
    if (states.length > 0)
      lines.push('', ...flow([`  ${states[0] ?? ''}`, ...states.slice(1)], '   ', this.#screen.columns, 2));
    if (this.#requests.length > 0)
      lines.push('', '  Sent to a host that drains:', ...this.#requests.slice(-LAST_REQUESTS));
    return lines;
  }

  #host(view: HostView, width: number, sinceMs: number): readonly string[] {
    const word = { up: 'serves', stopped: 'STOPPED' } as const;
    const ops = view.ops === 'none' ? 'none' : `${RPC_TOPIC_OPS} ${word[view.ops]}`;
    const lines = [hostRow([view.host, view.state, `${RPC_TOPIC} ${word[view.newRequest]}`, ops], width)];
    if (view.state !== 'draining') return lines;
    const nameOf = (uuid: string): string => this.#instances.get(uuid)?.name ?? uuid;
    for (const task of lasting(view.tasks)) {
      // The picture is drawn between two events: ages go on, and progress is that of the migration's record.
      lines.push(`      task: ${taskText({ ...task, ageMs: task.ageMs + sinceMs, progress: null }, nameOf)}`);
    }
    return lines;
  }
}

function hostRow(
  [host, state, newRequest, ops]: readonly [string, string, string, string],
  width: number,
): string {
  return `  ${host.padEnd(width)}  ${state.padEnd(8)}  ${newRequest.padEnd(18)}  ${ops}`;
}

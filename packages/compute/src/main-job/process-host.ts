import type { DrainReport } from '@ebbgate/service';
import { type Daemon, DaemonError } from './daemon.js';
import type { DaemonEvent } from './daemon-events.js';
import type { JobHost } from './job-cloud.js';
import type { HostEvent } from './job-events.js';

/** A compute host that is a process: each run is a new one, on the same guests and the same queues. */
export class ProcessHost implements JobHost {
  readonly name: string;
  readonly #startDaemon: (onEvent: (event: DaemonEvent) => void) => Daemon;
  readonly #onHost: (event: HostEvent) => void;
  readonly #onDeath: (error: Error) => void;
  #daemon: Daemon | undefined;
  #runs = 0;
  #report: DrainReport | undefined;
  #told = false;

  constructor(
    name: string,
    startDaemon: (onEvent: (event: DaemonEvent) => void) => Daemon,
    on: { readonly host: (event: HostEvent) => void; readonly death: (error: Error) => void },
  ) {
    this.name = name;
    this.#startDaemon = startDaemon;
    this.#onHost = on.host;
    this.#onDeath = on.death;
  }

  /** The present run, while there is one. */
  get daemon(): Daemon | undefined {
    return this.#daemon?.over === false ? this.#daemon : undefined;
  }

  async start(): Promise<void> {
    this.#runs += 1;
    this.#report = undefined;
    this.#told = false;
    await new Promise<void>((resolve, reject) => {
      const daemon = this.#startDaemon((event) => {
        if (event.kind === 'host' && event.view.state === 'running') resolve();
        this.#hear(event);
      });
      this.#daemon = daemon;
      void daemon.ended.then(({ code, signal }) => {
        if (this.#told) return;
        const error = new DaemonError(
          `${this.name} has died: ${signal ?? `exit code ${String(code)}`}\n${daemon.log}`,
        );
        reject(error);
        this.#onDeath(error);
      }, reject);
    });
  }

  /** Sends SIGTERM, by the system. */
  async terminate(): Promise<{ readonly code: number; readonly report: DrainReport }> {
    const daemon = this.#daemon;
    if (!daemon) throw new DaemonError(`${this.name} was not started`);
    this.#told = true;
    daemon.signal('SIGTERM');
    const { code, signal } = await daemon.ended;
    if (code === null || !this.#report) {
      throw new DaemonError(`${this.name} ended without a report: ${signal ?? String(code)}\n${daemon.log}`);
    }
    return { code, report: this.#report };
  }

  #hear(event: DaemonEvent): void {
    if (event.kind === 'exit') this.#report = event.report;
    if (event.kind === 'host') this.#onHost({ ...event, view: { ...event.view, run: this.#runs } });
    else if (event.kind === 'request' || event.kind === 'exit') this.#onHost(event);
  }
}

import type { Service } from '@ebbgate/service';
import type { ComputeHost } from '../compute/compute-host.js';
import type { HostLog } from './host-log.js';
import type { StartablePart } from './startable-part.js';
import { limited } from './startable-part.js';

/** A host of an all-in-one: ends with the others, and may be ended and started again by its operator before that. */
export class HostPart implements StartablePart {
  readonly name: string;
  readonly ended: Promise<number>;
  readonly #host: ComputeHost;
  readonly #log: HostLog;
  #runs = false;
  /** Resolves when the present run, or the last, is over. */
  #over: Promise<void> = Promise.resolve();
  #tellOver: () => void = () => undefined;
  /** Who ends it: its operator alone, so that the others go on; or the process, with all of them. */
  #ends: 'alone' | 'with all' | undefined;
  #settle: (code: number) => void = () => undefined;

  /** @param log - what the host logs to */
  constructor(host: ComputeHost, log: HostLog) {
    this.name = `compute ${host.name}`;
    this.#host = host;
    this.#log = log;
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    host.events.on('exited', ({ code }) => {
      this.#runs = false;
      this.#tellOver();
      if (this.#ends !== 'alone') this.#settle(code);
    });
    host.events.on('drainAsked', () => {
      this.#endsAlone();
    });
  }

  get service(): Service | undefined {
    return this.#host.runs > 0 ? this.#host.process.service : undefined;
  }

  /** Is there a run that has not ended? */
  get runs(): boolean {
    return this.#runs;
  }

  async start(): Promise<void> {
    this.#runs = true;
    this.#ends = undefined;
    this.#over = new Promise((resolve) => {
      this.#tellOver = resolve;
    });
    this.#log.starts();
    await this.#host.start();
  }

  drain(withinMs: number): void {
    this.#ends = 'with all';
    if (this.#runs) this.#host.drain('the process ends', limited(withinMs));
    else this.#settle(0);
  }

  endAtOnce(): void {
    if (this.#runs) this.#host.process.terminate('SIGINT');
  }

  reload(): void {
    if (this.#runs) void this.#host.process.reload().catch(() => undefined);
  }

  /** Resolves when the present run serves; rejects with what kept it from that. */
  serves(): Promise<void> {
    return this.#host.process.service.start();
  }

  /** What SIGTERM to it would do; resolves with the exit code. */
  async drainAlone(): Promise<number> {
    this.#endsAlone();
    return (await this.#host.terminate()).code;
  }

  /** Ends it in the middle of whatever it does; does nothing when it does not run. */
  async kill(): Promise<void> {
    if (!this.#runs) return;
    this.#endsAlone();
    const { process } = this.#host;
    this.#log.killed(this.#host.name, process.service.registry.snapshot());
    process.terminate('SIGTERM');
    process.terminate('SIGINT'); // during a drain: at once
    await this.#over;
  }

  /** Unless the process ends, which waits for it. */
  #endsAlone(): void {
    this.#ends ??= 'alone';
  }
}

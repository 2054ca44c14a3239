import type { ComputeHost } from '../compute/compute-host.js';
import type { StartablePart } from './startable-part.js';
import { limited } from './startable-part.js';

/** A host of an all-in-one: ends with the others, and may be ended and started again by its operator before that. */
export class HostPart implements StartablePart {
  readonly name: string;
  readonly ended: Promise<number>;
  readonly #host: ComputeHost;
  #runs = false;
  /** Its operator ends it: the others go on. */
  #alone = false;
  #settle: (code: number) => void = () => undefined;

  constructor(host: ComputeHost) {
    this.name = `compute ${host.name}`;
    this.#host = host;
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    host.events.on('exited', ({ code }) => {
      this.#runs = false;
      if (!this.#alone) this.#settle(code);
    });
  }

  /** Is there a run that has not ended? */
  get runs(): boolean {
    return this.#runs;
  }

  async start(): Promise<void> {
    this.#runs = true;
    this.#alone = false;
    await this.#host.start();
  }

  drain(withinMs: number): void {
    this.#alone = false;
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
    this.#alone = true;
    return (await this.#host.terminate()).code;
  }

  /** Ends it in the middle of whatever it does. */
  async kill(): Promise<void> {
    this.#alone = true;
    const { process } = this.#host;
    process.terminate('SIGTERM');
    process.terminate('SIGINT'); // during a drain: at once
    await process.done;
  }
}

import { TypedEvents } from '@ebbgate/core';
import type { ServerRequest } from '@ebbgate/rpc';
import { type DrainOptions, type DrainReport, launch, type Launched, type Service } from '@ebbgate/service';
import { OperationAbortedError } from '../errors.js';
import { type CompleteHostOptions, completeHostOptions, type ComputeHostOptions } from './host-options.js';
import { HostProcess } from './host-process.js';

/** Exit code of a host that is forced down, and is not to start then. */
export const FORCED_DOWN_EXIT = 5;

/** What a host tells. */
export interface ComputeHostEvents {
  /** A request has arrived, on the server of that topic. */
  readonly request: {
    readonly topic: string;
    readonly method: string;
    readonly requestId: string | undefined;
  };
  /** Somebody has asked by RPC that the host drains: it begins next. */
  readonly drainAsked: { readonly reason: string };
  /** A run has begun; its service can be listened to. */
  readonly started: HostProcess;
  /** The host has ended: its last run is over. */
  readonly exited: { readonly code: number; readonly report: DrainReport };
}

/**
 * A compute host: a Service with a new-request server on `compute.<host>` and an ops server on `compute-ops.<host>`, on
 * the same endpoint. It can be drained and started again in the same process: each run is a new Service, on the same
 * records, the same hypervisor and the same queues. A run that is forced down while it serves leaves everything as it is,
 * and a new one takes its place, which waits until the host is called up again: what it finds then it takes up as after
 * a crash.
 */
export class ComputeHost {
  /** The server name in its targets. */
  readonly name: string;
  /** Its runs, and the requests that arrive. */
  readonly events: TypedEvents<ComputeHostEvents>;
  readonly #options: CompleteHostOptions;
  #process: HostProcess | undefined;
  #runs = 0;
  /** The present run is replaced: by one that is to serve, or to wait, when this resolves. */
  #replaced: (next: Promise<void>) => void = () => undefined;
  /** Somebody has asked for its end. */
  #ending = false;

  constructor(options: ComputeHostOptions) {
    this.#options = completeHostOptions(options);
    this.name = options.name;
    this.events = new TypedEvents<ComputeHostEvents>((error, event) => {
      options.logger.error({ err: error, event }, 'A listener to a host failed');
    });
  }

  /** The present run, or the last one. @throws OperationAbortedError when there was none */
  get process(): HostProcess {
    if (!this.#process) throw new OperationAbortedError(`Host ${this.name} was not started`);
    return this.#process;
  }

  /** How often it was started. */
  get runs(): number {
    return this.#runs;
  }

  /** Begins a run. Resolves when it, or one that has taken its place, serves, or waits since the host is forced down. */
  async start(): Promise<void> {
    const { logger, ownsProcess } = this.#options;
    this.#ending = false;
    const process = this.#begin();
    const launched = launch(process.service, {
      logger,
      onReload: () => this.process.reload(),
      next: (report) => this.#next(report),
      // The process has several hosts: its signals are not for one of them, nor does it end with one.
      ...(!ownsProcess && { signals: [], exit: () => this.process.end() }),
    });
    const starting = this.#run(process, launched);
    void this.#tellExit(launched);
    await starting;
  }

  /** Drains without a signal to the process: the present run, and none follows it. */
  drain(reason: string, options: DrainOptions): void {
    this.#ending = true;
    void this.process.service.drain(reason, options);
  }

  /** What SIGTERM to the host's process does. Resolves with the exit code and the report when the run is over. */
  async terminate(): Promise<{ readonly code: number; readonly report: DrainReport }> {
    const { process } = this;
    process.terminate('SIGTERM');
    const code = await process.done;
    return { code, report: await this.process.service.exited };
  }

  #begin(): HostProcess {
    const process = new HostProcess(
      this.#options,
      (request, next) => {
        this.#told(request);
        return next(request);
      },
      (reason) => {
        this.events.emit('drainAsked', { reason });
        this.drain(reason, {});
      },
    );
    this.#process = process;
    this.#runs += 1;
    this.events.emit('started', process);
    return process;
  }

  /** After a run that nobody has ended: the next, when it was forced down. */
  async #next({ outcome }: DrainReport): Promise<Service | number | undefined> {
    const { process } = this;
    const { launched, isReplaced, isRefused } = process;
    if (isRefused && outcome === 'start-failed') return FORCED_DOWN_EXIT;
    if (!launched || !isReplaced || this.#ending) return undefined;
    await process.end();
    const next = this.#begin();
    const replaced = this.#replaced;
    const running = this.#run(next, launched);
    running.catch(() => undefined); // logged by the service, and told by the report
    replaced(running);
    return next.service;
  }

  #run(process: HostProcess, launched: Launched): Promise<void> {
    const next = new Promise<void>((resolve) => {
      this.#replaced = resolve;
    });
    return Promise.race([process.runBy(launched), next]);
  }

  async #tellExit({ done }: Launched): Promise<void> {
    const code = await done;
    const { exited } = this.process.service; // of its last run
    this.events.emit('exited', { code, report: await exited });
  }

  #told({ topic, method, context }: ServerRequest): void {
    if (!this.events.has('request')) return;
    this.events.emit('request', { topic, method, requestId: context.requestId });
  }
}

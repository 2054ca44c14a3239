import { TypedEvents } from '@ebbgate/core';
import type { ServerRequest } from '@ebbgate/rpc';
import type { DrainReport } from '@ebbgate/service';
import { OperationAbortedError } from '../errors.js';
import { type CompleteHostOptions, completeHostOptions, type ComputeHostOptions } from './host-options.js';
import { HostProcess } from './host-process.js';

/** What a host tells. */
export interface ComputeHostEvents {
  /** A request has arrived, on the server of that topic. */
  readonly request: {
    readonly topic: string;
    readonly method: string;
    readonly requestId: string | undefined;
  };
  /** A run has begun; its service can be listened to. */
  readonly started: HostProcess;
  /** A run is over. */
  readonly exited: { readonly code: number; readonly report: DrainReport };
}

/**
 * A compute host: a Service with a new-request server on `compute.<host>` and an ops server on `compute-ops.<host>`, on
 * the same endpoint. It can be drained and started again in the same process: each run is a new Service, on the same
 * records, the same hypervisor and the same queues.
 */
export class ComputeHost {
  /** The server name in its targets. */
  readonly name: string;
  /** Its runs, and the requests that arrive. */
  readonly events: TypedEvents<ComputeHostEvents>;
  readonly #options: CompleteHostOptions;
  #process: HostProcess | undefined;
  #runs = 0;

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

  /** Begins a run. Resolves when it serves. */
  async start(): Promise<void> {
    const process = new HostProcess(this.#options, (request, next) => {
      this.#told(request);
      return next(request);
    });
    this.#process = process;
    this.#runs += 1;
    this.events.emit('started', process);
    const starting = process.start();
    void this.#tellExit(process);
    await starting;
  }

  /** What SIGTERM to the host's process does. Resolves with the exit code and the report when the run is over. */
  async terminate(): Promise<{ readonly code: number; readonly report: DrainReport }> {
    const { process } = this;
    process.terminate('SIGTERM');
    const code = await process.done;
    return { code, report: await process.service.exited };
  }

  async #tellExit(process: HostProcess): Promise<void> {
    const code = await process.done;
    this.events.emit('exited', { code, report: await process.service.exited });
  }

  #told({ topic, method, context }: ServerRequest): void {
    if (!this.events.has('request')) return;
    this.events.emit('request', { topic, method, requestId: context.requestId });
  }
}

import { onAbort } from '@ebbgate/core';
import { aborted } from '../virt/pause.js';

interface Holder {
  readonly abort: AbortController;
  begin(): void;
}

/**
 * One operation on an instance at a time: two never overlap on a host. They run in the order in which they came. Each
 * gets a signal by which another one can ask it to end early, as a delete does with a build.
 */
export class InstanceLocks {
  readonly #lifetime: AbortSignal;
  /** By instance; the first of each list runs. */
  readonly #lines = new Map<string, Holder[]>();

  /** @param lifetime - with its abort everything that runs or waits is asked to end */
  constructor(lifetime: AbortSignal) {
    this.#lifetime = lifetime;
  }

  /** Is something being done to the instance, or about to be? */
  isBusy(instanceUuid: string): boolean {
    return this.#lines.has(instanceUuid);
  }

  /**
   * Runs `work` when nothing else is done to the instance here, and passes its outcome on.
   * @param work - its signal aborts at {@link interrupt}, with `early`, and at the end of the process; whether it heeds it is
   * its affair
   * @param early - ends it, too
   * @throws OperationAbortedError (`ERR_ABORTED`) when that comes before its turn
   */
  async run<T>(
    instanceUuid: string,
    work: (signal: AbortSignal) => Promise<T>,
    early?: AbortSignal,
  ): Promise<T> {
    const abort = new AbortController();
    const signal = AbortSignal.any([abort.signal, this.#lifetime, ...(early ? [early] : [])]);
    const holder = await this.#turn(instanceUuid, abort, signal);
    try {
      return await work(signal);
    } finally {
      this.#leave(instanceUuid, holder);
    }
  }

  /** Asks what is being done to the instance here, and what waits for its turn, to end; who asks afterwards is not meant. */
  interrupt(instanceUuid: string, reason: Error): void {
    for (const { abort } of [...(this.#lines.get(instanceUuid) ?? [])]) abort.abort(reason);
  }

  #turn(instanceUuid: string, abort: AbortController, signal: AbortSignal): Promise<Holder> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(aborted(signal));
        return;
      }
      let leave = (): void => undefined;
      const holder: Holder = {
        abort,
        begin: () => {
          leave();
          resolve(holder);
        },
      };
      const line = this.#lines.get(instanceUuid);
      if (!line) {
        this.#lines.set(instanceUuid, [holder]);
        holder.begin();
        return;
      }
      line.push(holder);
      leave = onAbort(signal, () => {
        line.splice(line.indexOf(holder), 1); // it is not the first: that one runs, and has left off listening
        reject(aborted(signal));
      });
    });
  }

  #leave(instanceUuid: string, holder: Holder): void {
    const line = this.#lines.get(instanceUuid) ?? [];
    line.splice(line.indexOf(holder), 1);
    const [next] = line;
    if (next) next.begin();
    else this.#lines.delete(instanceUuid);
  }
}

import type { ClientInterceptor } from '@ebbgate/rpc';
import { FencedError } from '../errors.js';

/** Members of a request's context: which host has sent it, and of which epoch its run is. */
export const HOST_MEMBER = 'ebbgate_host';
export const EPOCH_MEMBER = 'ebbgate_epoch';

/**
 * The epoch that a compute host works in: what its record said when it began. All that it sends carries it, so that those
 * who know that the host was forced down since refuse it (`decisions.md` 31).
 */
export class HostEpoch {
  readonly #host: string;
  #epoch: number | undefined;
  #onRefused: () => void = () => undefined;

  constructor(host: string) {
    this.#host = host;
  }

  /** Undefined until it is taken. */
  get value(): number | undefined {
    return this.#epoch;
  }

  /** From now on the host works in this epoch. */
  take(epoch: number): void {
    this.#epoch = epoch;
  }

  /** Calls `listener`, instead of the one before, when others refuse what the host sends. */
  whenRefused(listener: () => void): void {
    this.#onRefused = listener;
  }

  /** Around all that the host sends. */
  readonly stamp: ClientInterceptor = async (call, next) => {
    if (this.#epoch === undefined) return next(call);
    const context = call.context.with({ [HOST_MEMBER]: this.#host, [EPOCH_MEMBER]: this.#epoch });
    try {
      return await next({ ...call, context });
    } catch (error) {
      if (error instanceof FencedError) this.#onRefused();
      throw error;
    }
  };
}

import { within } from '@ebbgate/core';
import { ExternalEventError } from '../errors.js';
import type { InstanceExternalEvent } from '../objects/external-event.js';
import { aborted } from '../virt/pause.js';

/** Events that were announced before what causes them was begun, so that none can be missed. */
export interface AwaitedEvents {
  /**
   * Resolves when all have come.
   * @throws ExternalEventError (`ERR_EXTERNAL_EVENT`) when one says that it failed, or the time is over;
   * OperationAbortedError (`ERR_ABORTED`) when the signal aborts
   */
  wait(options: { readonly timeoutMs: number; readonly signal?: AbortSignal }): Promise<void>;
  /** They are not waited for any more. */
  cancel(): void;
}

type Settle = (event: InstanceExternalEvent) => void;

/** The external events that operations of this host wait for, by instance, name and tag. */
export class EventWaiters {
  readonly #waiting = new Map<string, Set<Settle>>();

  /** Events that are waited for. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Announces that an operation is going to wait for `name` once for each tag. */
  expect(instanceUuid: string, name: string, tags: readonly string[]): AwaitedEvents {
    const cancels: (() => void)[] = [];
    const each = tags.map((tag) => this.#one(keyOf(instanceUuid, name, tag), cancels));
    const all = Promise.all(each).then(() => undefined);
    all.catch(() => undefined); // one that failed before anybody waits is told to wait() below
    const cancel = (): void => {
      for (const one of cancels) one();
    };
    return {
      wait: async ({ timeoutMs, signal }) => {
        const missing = (): Error => new ExternalEventError(`${name} did not come within ${timeoutMs} ms`);
        try {
          await within(all, signal ? { timeoutMs, signal } : { timeoutMs }, missing);
        } catch (error) {
          throw signal?.aborted ? aborted(signal) : error;
        } finally {
          cancel();
        }
      },
      cancel,
    };
  }

  /** Wakes whoever waits for this event; false when nobody does. */
  deliver(event: InstanceExternalEvent): boolean {
    const settle = this.#waiting.get(
      keyOf(event.get('instance_uuid'), event.get('name'), event.find('tag') ?? ''),
    );
    for (const each of settle ?? []) each(event);
    return settle !== undefined;
  }

  #one(key: string, cancels: (() => void)[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle: Settle = (event) => {
        remove();
        if (event.get('status') !== 'failed') resolve();
        else reject(new ExternalEventError(`${event.get('name')} says that it failed`));
      };
      const remove = (): void => {
        const waiting = this.#waiting.get(key);
        waiting?.delete(settle);
        if (waiting?.size === 0) this.#waiting.delete(key);
      };
      cancels.push(remove);
      this.#waiting.set(key, (this.#waiting.get(key) ?? new Set()).add(settle));
    });
  }
}

function keyOf(instanceUuid: string, name: string, tag: string): string {
  return JSON.stringify([instanceUuid, name, tag]);
}

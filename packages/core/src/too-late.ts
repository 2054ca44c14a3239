import type { ConnectionState, DriverStatus } from './driver.js';
import { asTold } from './driver-failure.js';
import { MessageDeliveryError } from './errors.js';
import { errorText } from './redact.js';

/** In these states the connection is there: what is late has another reason. */
const THERE: ReadonlySet<ConnectionState> = new Set(['connected', 'blocked']);

/** Remembers why the connection is away, as the driver has told it last. */
export class LastCause {
  #cause: Error | undefined;

  /** The connection has changed. */
  told(state: ConnectionState, cause: Error | undefined): void {
    if (THERE.has(state)) this.#cause = undefined;
    else if (cause) this.#cause = cause;
  }

  /** Something has taken too long: with why the connection is away, if it is away and that is known. */
  late(text: string, { connection, cause = this.#cause }: DriverStatus): MessageDeliveryError {
    if (THERE.has(connection) || !cause) return new MessageDeliveryError(text);
    const told = asTold(cause);
    return new MessageDeliveryError(`${text}: ${errorText(told)}`, { cause: told });
  }
}

/** A listener or a reply queue that came when nobody waited for it any more. */
export async function closeLate(late: unknown): Promise<void> {
  if (typeof late !== 'object' || late === null || !('close' in late)) return;
  const { close } = late as { close: () => Promise<unknown> }; // both have this method
  try {
    await close.call(late);
  } catch {
    // Nobody is left who could do more.
  }
}

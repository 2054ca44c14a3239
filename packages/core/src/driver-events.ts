import { diagnostics } from './diagnostics.js';
import type { DriverEvents } from './driver.js';
import { asTold } from './driver-failure.js';
import type { LastCause } from './too-late.js';
import type { Transport } from './transport.js';

/** Where a driver's events go: to the transport's listeners, its log and the diagnostics channels, without secrets. */
export function driverEvents(transport: Transport, lastCause: LastCause): DriverEvents {
  const { url, logger, events } = transport;
  return {
    connection(state, told): void {
      const cause = told && asTold(told);
      lastCause.told(state, cause);
      if (diagnostics.connection.hasSubscribers) diagnostics.connection.publish({ url, state, cause });
      if (state === 'disconnected') logger.warn({ url, err: cause }, 'The connection to the broker is lost');
      events.emit('connection', { state, cause });
    },
    listener(status, told): void {
      events.emit('listener', { ...status, cause: told && asTold(told) });
    },
    error(error): void {
      transport.reportError(asTold(error));
    },
  };
}

import type { Logger } from '@ebbgate/core';
import type { InstanceExternalEvent } from '../../objects/external-event.js';
import type { EventWaiters } from '../event-waiters.js';

/** Hands events of other services to the operations that wait for them; what nobody waits for is dropped. */
export function deliverEvents(
  waiters: EventWaiters,
  logger: Logger,
  events: readonly InstanceExternalEvent[],
): void {
  for (const event of events) {
    if (waiters.deliver(event)) continue;
    const fields = { event: event.get('name'), instance: event.get('instance_uuid') };
    logger.debug(fields, 'Nothing here waits for this event');
  }
}

import type { Service } from '@ebbgate/service';

const OFTEN_MS = 1_000;

/**
 * A drain is reported again when a step or a task of it has begun or ended, once a second at most: its record then tells what
 * is still to be done, and not only with the next heartbeat.
 */
export function reportDrain(service: Pick<Service, 'state' | 'events' | 'reportNow'>): void {
  let timer: NodeJS.Timeout | undefined;
  const soon = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      if (service.state === 'draining') service.reportNow();
    }, OFTEN_MS).unref();
  };
  service.events.on('state', ({ state }) => {
    if (state !== 'draining') return;
    service.events.on('step', soon);
    service.events.on('task', soon); // not before: each request would be told
  });
}

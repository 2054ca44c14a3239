import type { Service } from '@ebbgate/service';

const OFTEN_MS = 1_000;

/**
 * A drain is reported again when a step or a task of it has begun or ended, once a second at most: its record then tells what
 * is still to be done, and not only with the next heartbeat.
 *
 * @param later - calls back after so many milliseconds; default: a timer that keeps nothing alive
 */
export function reportDrain(
  service: Pick<Service, 'state' | 'events' | 'reportNow'>,
  later: (work: () => void, ms: number) => void = unrefTimeout,
): void {
  let isWaiting = false;
  const soon = (): void => {
    if (isWaiting) return;
    isWaiting = true;
    later(() => {
      isWaiting = false;
      if (service.state === 'draining') service.reportNow();
    }, OFTEN_MS);
  };
  service.events.on('state', ({ state }) => {
    if (state !== 'draining') return;
    service.events.on('step', soon);
    service.events.on('task', soon); // not before: each request would be told
  });
}

function unrefTimeout(work: () => void, ms: number): void {
  setTimeout(work, ms).unref();
}

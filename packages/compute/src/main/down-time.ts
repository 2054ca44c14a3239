import type { Logger } from '@ebbgate/core';

/** How often services report, and when one is down; in seconds. */
interface DownTimes {
  readonly reportInterval: number;
  readonly serviceDownTime: number;
}

/** After how many seconds without a report a service is down: as upstream, longer than from one report to the next (FD-30). */
export function downTimeOf({ reportInterval, serviceDownTime }: DownTimes): number {
  return serviceDownTime > reportInterval ? serviceDownTime : Math.trunc(2.5 * reportInterval);
}

/** The same options with a down time that can be; says so when it was another. */
export function withDownTime<Options extends DownTimes>(options: Options, logger: Logger): Options {
  const serviceDownTime = downTimeOf(options);
  if (serviceDownTime === options.serviceDownTime) return options;
  logger.warn(
    { reportInterval: options.reportInterval, given: options.serviceDownTime, serviceDownTime },
    'service_down_time must be longer than report_interval: another one is used',
  );
  return { ...options, serviceDownTime };
}

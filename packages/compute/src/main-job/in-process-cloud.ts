import type { Logger } from '@ebbgate/core';
import { Cloud } from './cloud.js';
import { reportHost } from './host-reports.js';
import type { CloudWishes } from './job-cloud.js';
import type { Observer } from './observer.js';
import type { RecordedJob } from './recorded-job.js';

/** A cloud in this process whose hosts are observed. */
export function inProcessCloud(
  wishes: CloudWishes,
  recorded: RecordedJob,
  logger: Logger,
  observer: Observer,
): Cloud {
  const cloud = new Cloud({
    ...wishes,
    logger,
    portId: (uuid) => (uuid === recorded.instanceUuid ? recorded.portId : undefined),
    onSend: observer.onSent,
  });
  for (const host of cloud.hosts.values()) reportHost(host, observer.onHost);
  return cloud;
}

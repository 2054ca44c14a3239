import type { Logger } from '@ebbgate/core';
import { openRecords } from '../db/open-records.js';
import { Cloud } from './cloud.js';
import { reportHost } from './host-reports.js';
import type { CloudWishes } from './job-cloud.js';
import type { Observer } from './observer.js';
import type { RecordedJob } from './recorded-job.js';

/** A cloud in this process whose hosts are observed, and what closes its records. Rejects as `openRecords` does. */
export async function inProcessCloud(
  wishes: CloudWishes,
  recorded: RecordedJob,
  logger: Logger,
  observer: Observer,
): Promise<{ readonly cloud: Cloud; readonly close: () => Promise<void> }> {
  const records = await openRecords(wishes.database, { logger });
  const cloud = new Cloud({
    ...wishes,
    records,
    logger,
    portId: (uuid) => (uuid === recorded.instanceUuid ? recorded.portId : undefined),
    onSend: observer.onSent,
  });
  for (const host of cloud.hosts.values()) reportHost(host, observer.onHost);
  return { cloud, close: () => records.close() };
}

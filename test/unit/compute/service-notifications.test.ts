import { MemoryRecords } from '@ebbgate/compute';
import { describe, it } from 'mocha';
import { checkServiceNotifications } from '../../support/records/notifications.js';

describe('compute: notifications of services', () => {
  it('tell of each change in the payload of Nova, and of no heartbeat (FD-26)', () =>
    checkServiceNotifications(
      new MemoryRecords((error) => {
        throw error;
      }),
    ));
});

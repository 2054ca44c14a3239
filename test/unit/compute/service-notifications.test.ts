import { MemoryRecords } from '@ebbgate/compute';
import { describe, it } from 'mocha';
import { checkInstanceStates, checkServiceNotifications } from '../../support/records/notifications.js';

function emptyRecords(): MemoryRecords {
  return new MemoryRecords((error) => {
    throw error;
  });
}

describe('compute: notifications of services', () => {
  it('tell of each change in the payload of Nova, and of no heartbeat (FD-26)', () =>
    checkServiceNotifications(emptyRecords()));
});

describe('compute: records in memory', () => {
  it('tell of each change of the state of an instance, with the state before', () =>
    checkInstanceStates(emptyRecords()));
});

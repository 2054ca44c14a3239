import { memoryDriver, memoryFaults, TransportUrl } from '@ebbgate/core';
import { driverSuite } from '@ebbgate/driver-testkit';
import { describe, it } from 'mocha';
import { PATIENCE } from '../support/patience.js';

const url = 'memory://conformance/?max_message_bytes=8388608'; // a limit, so that its tests run too

describe('the in-memory driver', () => {
  driverSuite({
    describe,
    it,
    url,
    drivers: [memoryDriver],
    faults: memoryFaults(TransportUrl.parse(url)),
    waitMs: 2000 * PATIENCE,
    stress: Number(process.env['STRESS'] ?? 1),
  });
});

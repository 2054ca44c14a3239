export type { BrokerFaults } from './faults.js';
export { driverSuite } from './suite.js';
export type {
  Describe,
  DriverSuiteBase,
  DriverSuiteOptions,
  FaultSource,
  It,
  TransportSource,
} from './suite-options.js';

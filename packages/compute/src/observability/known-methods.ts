import { BASE_METHODS } from '../rpc/base-endpoint.js';
import { CONDUCTOR_METHODS } from '../rpc/conductor-methods.js';
import { HOST_METHODS } from '../rpc/host-methods.js';
import { COMPUTE_METHODS } from '../rpc/methods.js';
import { NETWORK_METHODS } from '../rpc/network-methods.js';
import { OBJECT_METHODS } from '../rpc/object-methods.js';
import { RECORD_METHODS } from '../rpc/record-methods.js';
import { SCHEDULER_METHODS } from '../rpc/scheduler-methods.js';

const TABLES = [
  ...[COMPUTE_METHODS, HOST_METHODS, CONDUCTOR_METHODS, OBJECT_METHODS],
  ...[SCHEDULER_METHODS, RECORD_METHODS, NETWORK_METHODS],
];
const KNOWN: ReadonlySet<string> = new Set([
  ...TABLES.flatMap((table) => Object.keys(table)),
  ...BASE_METHODS,
]);

/** Is it a method of a table? Others are names from the wire, of which there can be any number. */
export function isKnownMethod(method: string): boolean {
  return KNOWN.has(method);
}

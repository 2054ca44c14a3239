import { ValidationError } from '@ebbgate/rpc';
import { z } from 'zod';
import type {
  Allocation,
  HostCapacity,
  Resources,
  ServiceChanges,
  ServiceFilter,
  ServiceRecord,
  ServiceReport,
} from '../db/repositories.js';
import type { Dictionary } from './kinds.js';

const text = z.string().max(255);
const amount = z.number().nonnegative();
const atMs = z.number();

const taskSchema = z.object({
  name: text,
  kind: text,
  subject: text.nullable(),
  age_ms: z.number(),
  progress: z.number().nullable(),
});
const drainSchema = z.object({
  reason: z.string().nullable(),
  step: text.nullable(),
  budget_left_ms: z.number().nullable(),
  task_count: z.int(),
  tasks: z.array(taskSchema).max(100),
});

const reportSchema = z.object({
  binary: text,
  host: text,
  state: text,
  reported_at_ms: atMs,
  uuid: text.optional(),
  topic: text.optional(),
  version: z.int().optional(),
  availability_zone: text.nullable().optional(),
  started_at_ms: atMs.optional(),
  drain: drainSchema.nullable().optional(),
});

const sayingSchema = z.object({ by: z.string().nullable(), reason: z.string().nullable() });
const noteSchema = sayingSchema.extend({ at_ms: atMs });

const serviceSchema = reportSchema.required().extend({
  id: z.int(),
  disabled: z.boolean(),
  disabled_reason: z.string().nullable(),
  forced_down: z.boolean(),
  forced_down_note: noteSchema.nullable().default(null), // a conductor that is older tells nothing
  epoch: z.int(),
  report_count: z.int(),
});

const changesSchema = serviceSchema
  .pick({ disabled: true, disabled_reason: true, forced_down: true })
  .extend({ forced_down_note: sayingSchema })
  .partial();

const filterSchema = serviceSchema.pick({ binary: true, host: true, uuid: true, id: true }).partial();

const resourcesSchema = z.object({ vcpus: amount, memory_mb: amount, disk_gb: amount });
const capacitySchema = z.object({ host: text, total: resourcesSchema, used: resourcesSchema });
const allocationSchema = z.object({ consumer: text, host: text, resources: resourcesSchema });

/** Names of members here and on the wire, where they differ. */
const WIRE_NAMES: ReadonlyMap<string, string> = new Map([
  ['reportedAtMs', 'reported_at_ms'],
  ['availabilityZone', 'availability_zone'],
  ['startedAtMs', 'started_at_ms'],
  ['disabledReason', 'disabled_reason'],
  ['forcedDown', 'forced_down'],
  ['forcedDownNote', 'forced_down_note'],
  ['atMs', 'at_ms'],
  ['reportCount', 'report_count'],
  ['memoryMb', 'memory_mb'],
  ['diskGb', 'disk_gb'],
  ['budgetLeftMs', 'budget_left_ms'],
  ['taskCount', 'task_count'],
  ['ageMs', 'age_ms'],
]);
const OWN_NAMES: ReadonlyMap<string, string> = new Map([...WIRE_NAMES].map(([own, wire]) => [wire, own]));

/** A plain record as it travels: its names in snake case, what is undefined left out. */
export function toWire(record: object): Dictionary {
  const entries = Object.entries(record).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    entries.map(([name, value]: [string, unknown]) => [WIRE_NAMES.get(name) ?? name, nested(value, toWire)]),
  );
}

function fromWire(record: object): Dictionary {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]: [string, unknown]) => [
      OWN_NAMES.get(name) ?? name,
      nested(value, fromWire),
    ]),
  );
}

function nested(value: unknown, map: (record: object) => Dictionary): unknown {
  if (Array.isArray(value)) return value.map((one: unknown) => nested(one, map));
  return typeof value === 'object' && value !== null ? map(value) : value;
}

function read(method: string, schema: z.ZodType<object>, wire: unknown): Dictionary {
  const result = schema.safeParse(wire);
  if (result.success) return fromWire(result.data);
  const issues = result.error.issues.map(({ path, message }) => ({
    path: path.map(String).join('.'),
    message,
  }));
  throw new ValidationError(method, issues);
}

// Each of the casts below is of what its schema has just checked, under the names that fromWire gives.

/** @throws ValidationError (`ERR_VALIDATION`), as all here */
export function reportFrom(wire: unknown): ServiceReport {
  return read('service_report', reportSchema, wire) as unknown as ServiceReport;
}

/** A daemon as the others see it. */
export function serviceFrom(wire: unknown): ServiceRecord {
  return read('service', serviceSchema, wire) as unknown as ServiceRecord;
}

/** What an operator says of a daemon. */
export function serviceChangesFrom(wire: unknown): ServiceChanges {
  return read('service_update', changesSchema, wire);
}

/** What services are looked for by. */
export function serviceFilterFrom(wire: unknown): ServiceFilter {
  return read('service_find', filterSchema, wire);
}

/** From members that stand beside others. */
export function resourcesFrom(wire: unknown): Resources {
  return read('resources', resourcesSchema, wire) as unknown as Resources;
}

/** A host, as those see it who look for room. */
export function capacityFrom(wire: unknown): HostCapacity {
  return read('capacity', capacitySchema, wire) as unknown as HostCapacity;
}

/** What one consumer has of one host. */
export function allocationFrom(wire: unknown): Allocation {
  return read('allocation', allocationSchema, wire) as unknown as Allocation;
}

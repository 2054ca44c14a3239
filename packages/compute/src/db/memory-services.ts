import { randomUUID } from 'node:crypto';
import { RecordNotFoundError } from '../errors.js';
import type { ServiceChanges, ServiceRecord, ServiceReport, ServiceRepository } from './repositories.js';

/** What the first report of a daemon makes. */
export function firstReport(report: ServiceReport): ServiceRecord {
  const { binary, host, state, reportedAtMs } = report;
  return Object.freeze({
    uuid: report.uuid ?? randomUUID(),
    binary,
    host,
    state,
    reportedAtMs,
    topic: report.topic ?? binary,
    version: report.version ?? 0,
    availabilityZone: report.availabilityZone ?? null,
    startedAtMs: report.startedAtMs ?? reportedAtMs,
    disabled: false,
    disabledReason: null,
    forcedDown: false,
    reportCount: 1,
  });
}

/** What a later one does: what it does not tell stays. */
function laterReport(report: ServiceReport, before: ServiceRecord): ServiceRecord {
  const told = Object.entries(report).filter(([name, value]) => name !== 'uuid' && value !== undefined);
  return Object.freeze({ ...before, ...Object.fromEntries(told), reportCount: before.reportCount + 1 });
}

/** The last report of each service, in memory. */
export class MemoryServices implements ServiceRepository {
  readonly #records = new Map<string, ServiceRecord>();
  readonly #onChange: (record: ServiceRecord) => void;

  constructor(onChange: (record: ServiceRecord) => void) {
    this.#onChange = onChange;
  }

  async report(report: ServiceReport): Promise<void> {
    const before = this.#records.get(keyOf(report.binary, report.host));
    this.#store(before ? laterReport(report, before) : firstReport(report));
  }

  async list(binary: string): Promise<readonly ServiceRecord[]> {
    const found = [...this.#records.values()].filter((record) => record.binary === binary);
    return found.sort((a, b) => (a.host < b.host ? -1 : 1));
  }

  async get(binary: string, host: string): Promise<ServiceRecord> {
    const found = this.#records.get(keyOf(binary, host));
    if (found === undefined) throw new RecordNotFoundError('service', `${binary} on ${host}`);
    return found;
  }

  async update(binary: string, host: string, changes: ServiceChanges): Promise<ServiceRecord> {
    const before = await this.get(binary, host);
    const { disabled = before.disabled, disabledReason = before.disabledReason } = changes;
    const { forcedDown = before.forcedDown } = changes;
    return this.#store(Object.freeze({ ...before, disabled, disabledReason, forcedDown }));
  }

  #store(record: ServiceRecord): ServiceRecord {
    this.#records.set(keyOf(record.binary, record.host), record);
    this.#onChange(record);
    return record;
  }
}

function keyOf(binary: string, host: string): string {
  return `${binary}/${host}`;
}

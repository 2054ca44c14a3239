import { randomUUID } from 'node:crypto';
import { RecordNotFoundError } from '../errors.js';
import type {
  ForcedDownNote,
  ServiceChanges,
  ServiceFilter,
  ServiceRecord,
  ServiceReport,
  ServiceRepository,
} from './repositories.js';

const NOBODY = { by: null, reason: null };
/** 2023-11-14, in seconds since 1970. */
const FIRST_DAY_S = 1_700_000_000;

/** What the first report of a daemon makes, but for the number that is given to it. */
export function firstReport(report: ServiceReport): Omit<ServiceRecord, 'id'> {
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
    drain: report.drain ?? null,
    disabled: false,
    disabledReason: null,
    forcedDown: false,
    forcedDownNote: null,
    epoch: firstEpoch(reportedAtMs),
    reportCount: 1,
  });
}

/**
 * That of a service that was deleted and comes back is above all that it had: what its earlier runs send stays refused. In
 * seconds, as no service is forced down more often than once in one; from a day on so that it fits into 31 bits.
 */
function firstEpoch(reportedAtMs: number): number {
  return Math.max(0, Math.floor(reportedAtMs / 1000) - FIRST_DAY_S);
}

/** Who forces a service down now; by default nobody in particular, without a word. */
export function noteNow({ by, reason }: Omit<ForcedDownNote, 'atMs'> = NOBODY): ForcedDownNote {
  return { by, reason, atMs: Date.now() };
}

/** Does it say why? Then it takes the place of another. */
export function isReasoned(note: ServiceChanges['forcedDownNote']): boolean {
  return typeof note?.reason === 'string';
}

/** There is no such service. */
export function notRegistered(binary: string, host: string): RecordNotFoundError {
  return new RecordNotFoundError('service', `${binary} on ${host}`);
}

/** What a later one does: what it does not tell stays. */
function laterReport(report: ServiceReport, before: ServiceRecord): ServiceRecord {
  const told = Object.entries(report).filter(([name, value]) => name !== 'uuid' && value !== undefined);
  const { drain = null } = report;
  const { reportCount } = before;
  return Object.freeze({ ...before, ...Object.fromEntries(told), drain, reportCount: reportCount + 1 });
}

/** The last report of each service, in memory. */
export class MemoryServices implements ServiceRepository {
  readonly #records = new Map<string, ServiceRecord>();
  readonly #onChange: (record: ServiceRecord) => void;
  #lastId = 0;

  constructor(onChange: (record: ServiceRecord) => void) {
    this.#onChange = onChange;
  }

  async register(report: ServiceReport): Promise<ServiceRecord> {
    const before = this.#records.get(keyOf(report.binary, report.host));
    if (before) return this.#store(laterReport(report, before));
    this.#lastId += 1;
    return this.#store(Object.freeze({ id: this.#lastId, ...firstReport(report) }));
  }

  async report(report: ServiceReport): Promise<ServiceRecord> {
    return this.#store(laterReport(report, this.#get(report.binary, report.host)));
  }

  async list(binary: string): Promise<readonly ServiceRecord[]> {
    const found = [...this.#records.values()].filter((record) => record.binary === binary);
    return found.sort((a, b) => (a.host < b.host ? -1 : 1));
  }

  async find({ binary, host, uuid, id }: ServiceFilter): Promise<readonly ServiceRecord[]> {
    const fits = (wanted: unknown, is: unknown): boolean => wanted === undefined || wanted === is;
    const found = [...this.#records.values()].filter(
      (one) => fits(binary, one.binary) && fits(host, one.host) && fits(uuid, one.uuid) && fits(id, one.id),
    );
    return found.sort((a, b) => a.id - b.id);
  }

  async get(binary: string, host: string): Promise<ServiceRecord> {
    return this.#get(binary, host);
  }

  #get(binary: string, host: string): ServiceRecord {
    const found = this.#records.get(keyOf(binary, host));
    if (found === undefined) throw notRegistered(binary, host);
    return found;
  }

  async update(binary: string, host: string, changes: ServiceChanges): Promise<ServiceRecord> {
    const before = this.#get(binary, host);
    const { disabled = before.disabled, disabledReason = before.disabledReason } = changes;
    const { forcedDown = before.forcedDown } = changes;
    const isNew = forcedDown && !before.forcedDown;
    const epoch = before.epoch + (isNew ? 1 : 0);
    const isNews = isNew || isReasoned(changes.forcedDownNote);
    const note = isNews ? noteNow(changes.forcedDownNote) : before.forcedDownNote;
    const forcedDownNote = forcedDown ? note : null;
    const said = { disabled, disabledReason, forcedDown, forcedDownNote };
    return this.#store(Object.freeze({ ...before, ...said, epoch }));
  }

  async delete(binary: string, host: string): Promise<void> {
    if (!this.#records.delete(keyOf(binary, host))) throw notRegistered(binary, host);
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

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Run } from './evidence.js';
import type { Part, RunEnd, StartPart } from './part.js';
import { readRecords } from './records.js';
import { within } from '../support/rigs/deadline.js';
import { type RoleName, type RoleSettings, SERVERS } from './role.js';

/** One run of somebody. */
interface RunInfo {
  readonly role: RoleName;
  readonly run: string;
  readonly file: string;
  end: RunEnd | undefined;
  endedAt: number;
}

/** Somebody, who may be replaced by a successor of the same name. */
interface Member {
  readonly role: RoleName;
  readonly name: string;
  part: Part;
  info: RunInfo;
  isLeaving: boolean;
}

/** The first server and the first listener stay, so that there is somebody whose memory can be looked at. */
const SENDERS = { client: ['client-1', 'client-2'], notifier: ['notifier-1'] } as const;
const LISTENERS = ['listener-1', 'listener-2'] as const;

export type CompanySettings = Omit<RoleSettings, 'role' | 'name' | 'file'>;

/** All who take part. */
export class Company {
  readonly #runs: RunInfo[] = [];
  readonly #members: Member[] = [];
  readonly #start: StartPart;
  readonly #folder: string;
  readonly #settings: CompanySettings;

  constructor(start: StartPart, folder: string, settings: CompanySettings) {
    this.#start = start;
    this.#folder = folder;
    this.#settings = settings;
  }

  /** Those who receive; who sends comes afterwards, when there is something to send to. */
  startReceivers(hasNotifications: boolean): void {
    for (const name of SERVERS) this.#enter('server', name);
    if (hasNotifications) for (const name of LISTENERS) this.#enter('listener', name);
  }

  startSenders(hasNotifications: boolean): void {
    for (const name of SENDERS.client) this.#enter('client', name);
    if (hasNotifications) for (const name of SENDERS.notifier) this.#enter('notifier', name);
  }

  /** One of those who may leave, by a number from 0 to 1, goes this way, and has a successor; resolves when it is gone. */
  async replace(role: RoleName, which: number, how: 'end' | 'kill'): Promise<void> {
    const all = this.#members.filter((one) => one.role === role).slice(1);
    const there = all.filter(({ isLeaving }) => !isLeaving);
    const member = there[Math.floor(which * there.length)];
    if (!member) return;
    member.isLeaving = true;
    member.part[how]();
    await member.part.ended;
    Object.assign(member, this.#begin(role, member.name), { isLeaving: false });
  }

  /** Where all write. */
  get files(): readonly string[] {
    return this.#runs.map(({ file }) => file);
  }

  /** All that was written down so far. */
  runs(): readonly Run[] {
    return this.#runs.map(({ role, run, file, end = 'is not over', endedAt }) => {
      return { role, run, end, endedAt, records: readRecords(file) };
    });
  }

  /** Resolves when all can receive. */
  async ready(): Promise<void> {
    await Promise.all(this.#members.map(({ part }) => part.ready));
  }

  /** Nobody sends any more; resolves when all that was sent has settled, or after so long: the records tell. */
  async quiesce(limitMs: number): Promise<void> {
    const quiet = Promise.all(this.#members.map(({ part }) => part.quiesce()));
    await within('all to settle', limitMs, quiet).catch(() => undefined);
  }

  /** All end in order; receivers first, so that their last answers arrive. */
  async end(): Promise<void> {
    const isReceiver = ({ role }: Member): boolean => role === 'server' || role === 'listener';
    for (const some of [this.#members.filter(isReceiver), this.#members.filter((one) => !isReceiver(one))]) {
      for (const { part } of some) part.end();
      await Promise.all(some.map(({ part }) => part.ended));
    }
  }

  /** Whatever is left is ended at once. */
  killAll(): void {
    for (const { part, info } of this.#members) if (info.end === undefined) part.kill();
  }

  #enter(role: RoleName, name: string): void {
    this.#members.push({ role, name, isLeaving: false, ...this.#begin(role, name) });
  }

  #begin(role: RoleName, name: string): Pick<Member, 'part' | 'info'> {
    const run = `${name}.${this.#runs.length}`;
    const file = join(this.#folder, `${run}.jsonl`);
    const info: RunInfo = { role, run, file, end: undefined, endedAt: Infinity };
    writeFileSync(file, ''); // to be read from the beginning
    this.#runs.push(info);
    const part = this.#start({ ...this.#settings, role, name, file });
    void part.ended.then((end) => Object.assign(info, { end, endedAt: Date.now() }));
    return { part, info };
  }
}

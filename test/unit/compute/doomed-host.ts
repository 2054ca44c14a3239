import { MessagingTimeoutError } from '@ebbgate/core';
import type { Records } from '@ebbgate/compute';
import type { ClientInterceptor } from '@ebbgate/rpc';
import { type Deferred, deferred } from '../../support/deferred.js';

/** What is to happen at one of the writes of a host. */
export interface Doom {
  /** Which, from 1. */
  readonly write: number;
  /**
   * It dies `before` the write, or `after` it when nobody knows; or it lives, the write happens, and its answer is `lost`;
   * or the records are `away` for two tries.
   */
  readonly when: 'before' | 'after' | 'lost' | 'away';
}

const AWAY_TRIES = 2;

/**
 * The records as a host has them that is to die in the middle of what it does. It dies as a process does: what it was about
 * to do, it does not do, and nothing that it has asked is answered.
 */
export class DoomedHost {
  /** Resolves when it has died. */
  readonly died: Promise<void>;
  readonly #name: string;
  readonly #doom: Doom | undefined;
  readonly #death: Deferred<void> = deferred();
  #writes: string[] = [];
  #away = 0;
  #isArmed = false;
  #isDead = false;

  /** @param doom - undefined: it lives, and its writes are counted */
  constructor(name: string, doom: Doom | undefined) {
    this.#name = name;
    this.#doom = doom;
    this.died = this.#death.promise;
  }

  /** What it has written since it was armed. */
  get writes(): readonly string[] {
    return this.#writes;
  }

  /** From here on its writes count. */
  arm(): void {
    this.#isArmed = true;
  }

  /** It can be started again, and lives. */
  raise(): void {
    this.#isArmed = false;
    this.#isDead = false;
  }

  /** Option `recordsOf` of a cloud: that of the host of this name are doomed. */
  readonly recordsOf = (host: string, records: Records): Records => {
    if (host !== this.#name) return records;
    const { instances, migrations, allocations } = records;
    return {
      ...records,
      services: records.services,
      instances: {
        create: (record) => this.#write('new instance', () => instances.create(record)),
        get: (uuid) => this.#read(() => instances.get(uuid)),
        find: (where) => this.#read(() => instances.find(where)),
        update: (uuid, changes, expected) =>
          this.#write(`instance ${JSON.stringify(changes.task_state)}`, () =>
            instances.update(uuid, changes, expected),
          ),
      },
      migrations: {
        create: (record) => this.#write('new migration', () => migrations.create(record)),
        get: (uuid) => this.#read(() => migrations.get(uuid)),
        find: (where) => this.#read(() => migrations.find(where)),
        update: (uuid, changes, expected) =>
          this.#write(`migration ${String(changes.status)}`, () =>
            migrations.update(uuid, changes, expected),
          ),
      },
      allocations: {
        report: (name, total) => allocations.report(name, total),
        forget: (name) => allocations.forget(name),
        capacities: () => this.#read(() => allocations.capacities()),
        find: (where) => this.#read(() => allocations.find(where)),
        claim: (consumer, name, resources) =>
          this.#write('claim', () => allocations.claim(consumer, name, resources)),
        transfer: (from, to) => this.#write('transfer', () => allocations.transfer(from, to)),
        release: (consumer, name) => this.#write('release', () => allocations.release(consumer, name)),
      },
    };
  };

  /** Around all that it sends: messages count as writes. */
  readonly onSend: ClientInterceptor = (call, next) => this.#write(call.method, async () => next(call));

  #read<T>(work: () => Promise<T>): Promise<T> {
    return this.#isDead ? never() : work();
  }

  async #write<T>(what: string, work: () => Promise<T>): Promise<T> {
    if (this.#isDead) return never();
    if (!this.#isArmed) return work();
    if (this.#away > 0) {
      this.#away -= 1;
      throw new MessagingTimeoutError('no answer, as ordered');
    }
    this.#writes.push(what);
    const when = this.#writes.length === this.#doom?.write ? this.#doom.when : undefined;
    if (when === 'before') return this.#die();
    if (when === 'away') {
      this.#away = AWAY_TRIES - 1;
      throw new MessagingTimeoutError('no answer, as ordered');
    }
    if (when === 'after') {
      await work().catch(() => undefined);
      return this.#die();
    }
    const result = await work();
    if (when === 'lost') throw new MessagingTimeoutError('no answer, as ordered');
    return this.#read(() => Promise.resolve(result));
  }

  #die(): Promise<never> {
    this.#isDead = true;
    this.#death.resolve();
    return never();
  }
}

/** What a process is told that is gone. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}

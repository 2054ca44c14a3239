import { ConfigurationError, type Logger, type MaybePromise } from '@ebbgate/core';
import type { ServiceRepository } from '../db/repositories.js';
import { COMPUTE_RPC_VERSION } from './topics.js';
import { readVersionCap, rpcVersionOf } from './version-levels.js';

/** Where the cap comes from. */
export interface VersionCapSources {
  /** A version, the name of a Nova release, or `auto`; absent: no cap. */
  readonly versionCap?: string | undefined;
  /** Reads the cap again, at each refresh; absent: it stays what it was. */
  readonly readVersionCap?: (() => MaybePromise<string | undefined>) | undefined;
  /** Who is there, and of which version; `auto` needs it. */
  readonly services?: Pick<ServiceRepository, 'list'> | undefined;
}

/** What the records say of the hosts. */
interface Fleet {
  /** The interface that each knows, of those whose version is known. */
  readonly versions: ReadonlyMap<string, string>;
  /** The oldest of those that are not forced down; undefined when there are none. */
  readonly oldest: string | undefined;
  readonly readAtMs: number;
}

/** So long what the records said is taken to hold. */
const FRESH_MS = 60_000;
/** A host that they do not know may just have come: they are asked again, but not for each message. */
const UNKNOWN_MS = 1_000;

/**
 * The newest version that may be sent to each host (GS-40, GS-90, RPC-20). An explicit cap binds all of them (GS-91).
 * Under `auto` each is sent what its own record says that it knows; a host without a record, what the oldest of the others
 * knows, and when there are no others, anything. Rows of hosts that are forced down do not make the others old.
 */
export class VersionCaps {
  readonly #sources: VersionCapSources;
  readonly #logger: Logger;
  readonly #now: () => number;
  #cap: string | undefined;
  #fleet: Fleet | undefined;
  #reading: Promise<Fleet> | undefined;

  /** @throws ConfigurationError (`ERR_CONFIGURATION`) for a cap that cannot be read, and for `auto` without services */
  constructor(sources: VersionCapSources, logger: Logger, now: () => number = () => performance.now()) {
    this.#sources = sources;
    this.#logger = logger;
    this.#now = now;
    this.#cap = this.#checked(sources.versionCap);
  }

  /** The newest version that may be sent to this host; undefined: any. Rejects with what reading the records did. */
  of(host: string): MaybePromise<string | undefined> {
    if (this.#cap !== 'auto') return this.#cap;
    const known = this.#fleet;
    if (known && this.#isFresh(known, known.versions.has(host) ? FRESH_MS : UNKNOWN_MS))
      return capIn(known, host);
    return this.#read().then((fleet) => capIn(fleet, host));
  }

  /**
   * Reads the cap again, where it can be read, and forgets what is known of the hosts.
   * @throws ConfigurationError (`ERR_CONFIGURATION`) for a cap that cannot be read: then the old one stays
   */
  async refresh(): Promise<void> {
    const { readVersionCap: readAgain } = this.#sources;
    if (readAgain) this.#cap = this.#checked(await readAgain());
    this.#fleet = undefined;
    this.#reading = undefined;
  }

  #checked(text: string | undefined): string | undefined {
    const cap = text === undefined ? undefined : readVersionCap(text);
    if (cap === 'auto' && !this.#sources.services)
      throw new ConfigurationError('The compute version cap "auto" needs the records of the services');
    return cap;
  }

  #isFresh({ readAtMs }: Fleet, forMs: number): boolean {
    return this.#now() - readAtMs < forMs;
  }

  /** Senders that ask at the same time are told by one reading. */
  #read(): Promise<Fleet> {
    const reading = (this.#reading ??= this.#list());
    return reading.then(
      (fleet) => this.#keep(reading, fleet),
      (error: unknown) => this.#goOnWithout(reading, error),
    );
  }

  #keep(reading: Promise<Fleet>, fleet: Fleet): Fleet {
    // A reading that a refresh has overtaken serves who waited for it, and is not kept.
    if (this.#reading !== reading) return fleet;
    this.#reading = undefined;
    // Nothing is kept of an empty set, so that the first host that comes is seen at once (RPC-20).
    this.#fleet = fleet.oldest === undefined ? undefined : fleet;
    return fleet;
  }

  #goOnWithout(reading: Promise<Fleet>, error: unknown): Fleet {
    if (this.#reading === reading) this.#reading = undefined;
    if (!this.#fleet) throw error;
    this.#logger.warn({ err: error }, 'The versions of the hosts cannot be read; those known are used');
    return this.#fleet;
  }

  async #list(): Promise<Fleet> {
    const records = (await this.#sources.services?.list('compute')) ?? [];
    const known = records.filter(({ version }) => version > 0); // 0: it has not told
    const counted = known.filter(({ forcedDown }) => !forcedDown).map(({ version }) => version);
    return Object.freeze({
      versions: new Map(known.map(({ host, version }) => [host, rpcVersionOf(version)])),
      oldest: counted.length === 0 ? undefined : rpcVersionOf(Math.min(...counted)),
      readAtMs: this.#now(),
    });
  }
}

function capIn(fleet: Fleet, host: string): string {
  return fleet.versions.get(host) ?? fleet.oldest ?? COMPUTE_RPC_VERSION;
}

import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { Logger } from '@ebbgate/core';
import type { ServerInterceptor, ServerRequest } from '@ebbgate/rpc';
import { computeMethods } from '../rpc/methods.js';
import { aborted } from '../virt/pause.js';
import { UnsettledWriteError } from './sure-write.js';
import type { JournalChange, JournalEntry, RequestJournal } from './request-journal.js';

/** Casts whose effect is over with the process anyhow: what they speak of is in its memory. */
const PASSING: ReadonlySet<string> = new Set([
  'external_instance_event',
  'live_migration_abort',
  'live_migration_force_complete',
]);

/**
 * Calls that end something: done late they are right all the same. What other calls begin, their callers take back when no
 * answer comes.
 */
const ENDING_CALLS: ReadonlySet<string> = new Set([
  'post_live_migration_at_destination',
  'drop_move_claim_at_destination',
  'remove_volume_connection',
]);

/** Of these a host may lose sight while it is at them: it hands them to another one, in two steps. */
const UNTIL_ITS_END: ReadonlySet<string> = new Set(['prep_resize']);

/** Which requests are written down, and for how long. */
export interface JournalRules {
  readonly isJournalled: (request: ServerRequest) => boolean;
  /** Until it has ended; else until the records tell that it has begun. */
  readonly staysOn: (method: string) => boolean;
}

/** Those of hosts. */
const OF_HOSTS: JournalRules = { isJournalled, staysOn: (method) => UNTIL_ITS_END.has(method) };

/** A request on its way from its acceptance to the first record that tells of it. */
interface Open {
  readonly id: string;
  /** Of the host: several can be in one process, and what one does can be the doing of another. */
  readonly owner: AcceptedRequests;
  /** Its handler, and what goes on in the background after that. */
  holders: number;
  /** It stays until it has ended. */
  staysOn: boolean;
  /** Struck from the journal, or to stay there: nothing that this run still does changes that. */
  isDone: boolean;
}

/** One for all: each costs something at every promise of the process. */
const current = new AsyncLocalStorage<Open>();

/**
 * What one run of a host, or of a conductor, has accepted, in its journal until it has begun or ended (`decisions.md` 5):
 * the broker has forgotten it by then, and the records do not tell of it yet. What stays there when a process is killed is
 * taken up again by the next one.
 */
export class AcceptedRequests {
  readonly #journal: RequestJournal;
  readonly #logger: Logger;
  readonly #lifetime: AbortSignal;
  readonly #rules: JournalRules;
  readonly #ids = new WeakMap<ServerRequest, string>();
  #batch: JournalChange[] = [];
  #writing: Promise<void> | undefined;

  /**
   * @param lifetime - with its abort the process is gone: it writes nothing any more
   * @param rules - default: those of hosts
   */
  constructor(
    journal: RequestJournal,
    logger: Logger,
    lifetime: AbortSignal,
    rules: JournalRules = OF_HOSTS,
  ) {
    this.#journal = journal;
    this.#logger = logger;
    this.#lifetime = lifetime;
    this.#rules = rules;
  }

  /** Option `beforeAccept` of both servers: resolves when the request is in the journal. Rejects as the journal throws. */
  readonly accept = (request: ServerRequest): Promise<void> | undefined => {
    if (!this.#rules.isJournalled(request)) return undefined;
    const { method, args, messageId: id = randomUUID() } = request;
    this.#ids.set(request, id);
    return this.#write({ accepted: { id, method, args, context: request.context.values, tries: 0 } });
  };

  /** Around every request that was accepted, outside of all that may begin it. */
  readonly interceptor: ServerInterceptor = (request, next) => {
    const id = this.#ids.get(request);
    if (id === undefined) return next(request);
    return this.#follow({ id, method: request.method }, async () => next(request));
  };

  /** What goes on in the background belongs to the request that has begun it, and that is done when all of it is. */
  hold<T>(work: () => Promise<T>): Promise<T> {
    const open = this.#current;
    return open ? this.#until(open, work) : work();
  }

  /** The records tell of the request that is being handled here: from now on they are what its recovery goes by. */
  readonly begun = (): void => {
    const open = this.#current;
    if (open?.staysOn === false) this.#strike(open);
  };

  /**
   * Others refuse what the request that is being handled here sends, as the host was forced down: whatever its handler makes
   * of that, the request stays for the next run.
   */
  readonly keep = (): void => {
    const open = this.#current;
    if (open) open.isDone = true;
  };

  /** What earlier runs have accepted and not begun. */
  left(): readonly JournalEntry[] {
    return this.#journal.entries();
  }

  /** Follows one of them again; it is noted first that this run has taken it up. */
  async again<T>(entry: JournalEntry, work: () => Promise<T>): Promise<T> {
    await this.#write({ accepted: { ...entry, tries: entry.tries + 1 } });
    return this.#follow(entry, work);
  }

  /** It is not to be taken up again. */
  drop({ id }: JournalEntry): void {
    this.#strike({ id, owner: this, holders: 0, staysOn: false, isDone: false });
  }

  #follow<T>({ id, method }: Pick<JournalEntry, 'id' | 'method'>, work: () => Promise<T>): Promise<T> {
    const staysOn = this.#rules.staysOn(method);
    const open: Open = { id, owner: this, holders: 0, staysOn, isDone: false };
    return current.run(open, () => this.#until(open, work));
  }

  get #current(): Open | undefined {
    const open = current.getStore();
    return open?.owner === this ? open : undefined;
  }

  async #until<T>(open: Open, work: () => Promise<T>): Promise<T> {
    open.holders += 1;
    try {
      return await work();
    } catch (error) {
      // Whether it has begun is not known: the next start looks.
      if (error instanceof UnsettledWriteError) open.isDone = true;
      throw error;
    } finally {
      open.holders -= 1;
      if (open.holders === 0) this.#strike(open);
    }
  }

  #strike(open: Open): void {
    if (this.#lifetime.aborted || open.isDone) return;
    open.isDone = true;
    this.#write({ done: open.id }).catch((error: unknown) => {
      this.#logger.warn(
        { err: error },
        'A request stays in the journal, and is looked at again at the next start',
      );
    });
  }

  /** All that comes in one turn of the loop, as the messages of one read do, is one write. */
  #write(change: JournalChange): Promise<void> {
    this.#batch.push(change);
    this.#writing ??= Promise.resolve().then(() => {
      const batch = this.#batch;
      this.#batch = [];
      this.#writing = undefined;
      if (this.#lifetime.aborted) throw aborted(this.#lifetime);
      this.#journal.write(batch);
    });
    return this.#writing;
  }
}

function isJournalled({ namespace, method }: ServerRequest): boolean {
  const row = namespace === null ? computeMethods.get(method) : undefined;
  if (row === undefined) return false;
  return row.kind === 'cast' ? !PASSING.has(method) : ENDING_CALLS.has(method);
}

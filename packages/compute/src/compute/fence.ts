import { type Logger, within } from '@ebbgate/core';
import { orUndefined } from '../db/or-undefined.js';
import type { ServiceRecord, ServiceRepository } from '../db/repositories.js';
import { FencedError, RecordNotFoundError } from '../errors.js';
import type { HostEpoch } from '../servicegroup/host-epoch.js';
import { pause } from '../virt/pause.js';
import { tryAgain } from './try-again.js';

/** What a host does that finds itself forced down when it starts: cleans up and waits, or does not start. */
export type ForcedDownStart = 'clean-up' | 'refuse';

/** What is fenced, and how. */
export interface FenceParts {
  readonly host: string;
  readonly services: Pick<ServiceRepository, 'get'>;
  readonly epoch: HostEpoch;
  readonly forcedDownStart: ForcedDownStart;
  /** Removes what finished evacuations have left here. */
  readonly cleanUp: () => Promise<void>;
  /** From one clean-up to the next, while it waits. */
  readonly recheckMs: number;
  /** The host was forced down while it served. */
  readonly onFenced: () => void;
  readonly logger: Logger;
}

/** While it waits it looks so often whether it was called up again, whatever the interval of its reports. */
const LOOK_MS = 1000;

/**
 * Keeps one run of a host passive while it is forced down (COMP-14). A run that finds itself forced down at its start cleans
 * up, again and again, and looks every second whether it is called up again; one that learns of it by the answer to a report is
 * told so once. Either way the epoch of the run is that of the record when it was last not fenced, or fenced and waiting.
 */
export class Fence {
  /** Resolves when the start waits, and what there was to clean up has been seen to once. */
  readonly held: Promise<void>;
  readonly #parts: FenceParts;
  #state: 'closed' | 'refused' | 'held' | 'open' | 'fenced' = 'closed';
  /** There was no record of it: its epoch is that of the one that its first report makes. */
  #isNew = false;
  #settleHeld: () => void = () => undefined;
  /** Aborts when it is called up again. */
  readonly #cleared = new AbortController();

  constructor(parts: FenceParts) {
    this.#parts = parts;
    this.held = new Promise((resolve) => {
      this.#settleHeld = resolve;
    });
  }

  /** It is not to start, as the host is forced down. */
  get isRefused(): boolean {
    return this.#state === 'refused';
  }

  /** It was forced down while it served. */
  get isFenced(): boolean {
    return this.#state === 'fenced';
  }

  /**
   * Resolves when the host may serve.
   * @param hold - begins the reports, whose answers are to be given to {@link Fence.hear}
   * @throws FencedError (`ERR_FENCED`) when it is forced down and is not to start then
   */
  async gate(hold: (reason: string) => void, signal: AbortSignal): Promise<void> {
    const { host, epoch, forcedDownStart } = this.#parts;
    const record = await orAborted(this.#read(signal), signal);
    this.#isNew = record === undefined;
    epoch.take(record?.epoch ?? 0);
    if (record?.forcedDown === true) {
      if (forcedDownStart === 'refuse') {
        this.#state = 'refused';
        throw new FencedError(
          `Host ${host} is forced down, and forced_down_start is refuse: clean up with "host clean-up", then call it up again`,
        );
      }
      this.#state = 'held';
      hold('forced down');
      await orAborted(this.#wait(signal), signal);
    }
    this.#state = 'open';
  }

  /** The record, as the answer to a report tells it; undefined: there is none any more, which changes nothing. */
  hear(record: ServiceRecord | undefined): void {
    const { epoch, onFenced } = this.#parts;
    if (!record) return;
    if (this.#isNew) epoch.take(record.epoch);
    this.#isNew = false;
    if (this.#state === 'held') {
      epoch.take(record.epoch);
      if (!record.forcedDown) this.#cleared.abort();
    } else if (this.#state === 'open' && (record.forcedDown || record.epoch > (epoch.value ?? 0))) {
      this.#state = 'fenced';
      onFenced();
    }
  }

  async #wait(signal: AbortSignal): Promise<void> {
    const { cleanUp, recheckMs, logger } = this.#parts;
    const either = AbortSignal.any([signal, this.#cleared.signal]);
    void this.#look(either);
    while (!either.aborted) {
      try {
        await cleanUp();
        this.#settleHeld();
      } catch (error) {
        logger.warn({ err: error }, 'What was evacuated could not be looked for; it is tried again');
      }
      await pause(recheckMs, either).catch(() => undefined);
    }
  }

  /** Never rejects: what cannot be read now is read the next time, or told by a report. */
  async #look(until: AbortSignal): Promise<void> {
    const { services, host, recheckMs } = this.#parts;
    const everyMs = Math.min(recheckMs, LOOK_MS);
    const paused = (): Promise<boolean> =>
      pause(everyMs, until).then(
        () => true,
        () => false,
      );
    while (await paused()) {
      const record = await services.get('compute', host).catch(() => undefined);
      if (!until.aborted) this.hear(record);
    }
  }

  /** Without the record it is not known whether the host may serve: it is asked for again and again. */
  async #read(signal: AbortSignal): Promise<ServiceRecord | undefined> {
    const { services, host, logger } = this.#parts;
    let failures = 0;
    const onFailure = (error: unknown): void => {
      if (error instanceof RecordNotFoundError) throw error;
      if (failures === 0)
        logger.warn({ err: error }, 'Whether this host is forced down cannot be read yet: the start waits');
      failures += 1;
    };
    const record = await orUndefined(tryAgain(() => services.get('compute', host), onFailure, signal));
    if (failures > 0)
      logger.info({ host }, 'Whether this host is forced down can be read now: the start goes on');
    return record;
  }
}

/** Also when what it waits for takes its time, such as an answer from a broker that is away. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return within(work, { signal }, () => new Error('no time limit was set'));
}

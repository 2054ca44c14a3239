import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { open, rename, rm, writeFile } from 'node:fs/promises';
import { ConfigurationError, Deadline, secretId } from '@ebbgate/core';
import { withMachineLock } from './machine-lock.js';
import type { QueueSettings } from './options.js';
import { isRunning, ownProcessGroup, type ProcessGroup } from './process-group.js';

/** Gives each reply and each fanout queue the last part of its name. */
export interface QueueNames {
  /** A part that no other queue has. */
  next(): Promise<string>;
}

/** Where Linux keeps files in memory: they are gone after a boot, as the numbers in them should be. */
const SHARED_MEMORY = '/dev/shm';
const LOCK_MS = 10_000;
const COUNTER = /^(\d+):(\d+):(\d+)\s*$/;

/** The way of the settings: at random, or by the queue manager. */
export function queueNames(settings: QueueSettings): QueueNames {
  if (settings.useQueueManager) return new QueueManager(settings);
  return { next: () => Promise.resolve(secretId()) };
}

/**
 * Names that a restarted service finds again: `<hostname>:<processname>:<n>`, as oslo.messaging's `use_queue_manager`
 * makes them from 14.7 on. n counts through all processes of one process group, in a file in shared memory that says
 * `<process group>:<counter>:<start time in jiffies>`, and begins again at 1 when group or start time are others.
 */
export class QueueManager implements QueueNames {
  readonly #prefix: string;
  readonly #file: string;
  readonly #lock: string;

  /** @param folder Of the counter file. */
  constructor(settings: Pick<QueueSettings, 'hostname' | 'processname'>, folder: string = SHARED_MEMORY) {
    const { hostname, processname } = settings;
    this.#prefix = `${hostname}:${processname}`;
    this.#file = `${folder}/${hostname}_${processname}_qmanager`;
    const hash = createHash('sha256').update(this.#file).digest('hex');
    this.#lock = `ebbgate-qmanager-${hash.slice(0, 32)}`; // a socket's name has 107 bytes at most
  }

  /**
   * @throws ConfigurationError (`ERR_CONFIGURATION`) when another program that is running now counts in the same file,
   *   as both would have the same queues, or when the file cannot be used; MessagingTimeoutError (`ERR_TIMEOUT`) when
   *   another process does not give the file free for ten seconds.
   */
  async next(): Promise<string> {
    const own = await ownProcessGroup();
    const number = await withMachineLock(this.#lock, Deadline.after(LOCK_MS), () => this.#count(own));
    return `${this.#prefix}:${number}`;
  }

  async #count(own: ProcessGroup): Promise<number> {
    const last = await this.#read();
    const ours = last !== undefined && last.group.id === own.id && last.group.startTime === own.startTime;
    if (last !== undefined && !ours && (await isRunning(last.group))) {
      throw new ConfigurationError(
        `use_queue_manager: the running process group ${last.group.id} has the same hostname and processname ("${this.#prefix}"), so that both would use the same queues; give each program a processname of its own`,
      );
    }
    const counter = ours ? last.counter + 1 : 1;
    await this.#write(`${own.id}:${counter}:${own.startTime}`);
    return counter;
  }

  async #read(): Promise<{ readonly group: ProcessGroup; readonly counter: number } | undefined> {
    let content: string;
    try {
      // The folder is everybody's: a link that somebody has put there is not followed.
      const file = await open(this.#file, constants.O_RDONLY | constants.O_NOFOLLOW);
      try {
        content = await file.readFile('latin1');
      } finally {
        await file.close();
      }
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      throw this.#unusable(error);
    }
    const match = COUNTER.exec(content);
    if (!match) return undefined; // as Python does
    const [id, counter, startTime] = match.slice(1).map(Number) as [number, number, number]; // three groups
    return { group: { id, startTime }, counter };
  }

  /** By another file of another name, so that nobody ever reads half a number. */
  async #write(content: string): Promise<void> {
    const fresh = `${this.#file}.${randomBytes(8).toString('hex')}`;
    try {
      await writeFile(fresh, content, { flag: 'wx', mode: 0o644 });
      await rename(fresh, this.#file);
    } catch (error) {
      await rm(fresh, { force: true }).catch(() => undefined); // the first error says why
      throw this.#unusable(error);
    }
  }

  #unusable(cause: unknown): ConfigurationError {
    return new ConfigurationError(`use_queue_manager: the counter file ${this.#file} cannot be used`, {
      cause,
    });
  }
}

import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HypervisorError } from '../errors.js';
import { PLAIN_NAME, PLAIN_NAME_TEXT } from '../plain-name.js';
import type { GuestState } from './driver.js';
import { ImageFolder } from './image-folder.js';
import type { GuestStore, Hypervisors, ImageStore } from './hypervisors.js';

const ENDING = '.json';
const STATES: ReadonlySet<string> = new Set<GuestState>(['running', 'paused', 'shutdown']);

type FolderName = 'guests' | 'expected' | 'kept';

/**
 * The machine of one host as a folder: `guests/<uuid>.json` is a guest, `expected/<uuid>.json` what was prepared for
 * one that is to come, `kept/<uuid>.json` what was kept of one that has left and may be taken back. What a hypervisor
 * keeps survives the death of the service that drives it, and so does this. Synchronous, as each step must be one: the
 * files are of a few bytes.
 */
class GuestFolder implements GuestStore {
  readonly #root: string;
  readonly #host: string;

  constructor(root: string, host: string) {
    this.#root = root;
    this.#host = host;
    mkdirSync(folderOf(root, host, 'guests'), { recursive: true });
    mkdirSync(folderOf(root, host, 'expected'), { recursive: true });
    mkdirSync(folderOf(root, host, 'kept'), { recursive: true });
  }

  guests(): ReadonlyMap<string, GuestState> {
    const guests = new Map<string, GuestState>();
    for (const uuid of namesIn(folderOf(this.#root, this.#host, 'guests'))) {
      const state = this.state(uuid);
      if (state !== undefined) guests.set(uuid, state); // it may have left since the folder was read
    }
    return guests;
  }

  state(uuid: string): GuestState | undefined {
    const text = unlessAbsent(() => readFileSync(this.#guest(uuid), 'utf8'));
    return text === undefined ? undefined : stateIn(text, uuid);
  }

  set(uuid: string, state: GuestState): void {
    writeAtOnce(this.#guest(uuid), JSON.stringify({ state }));
  }

  remove(uuid: string): void {
    rmSync(this.#guest(uuid), { force: true });
  }

  expected(): readonly string[] {
    return namesIn(folderOf(this.#root, this.#host, 'expected'));
  }

  expect(uuid: string): void {
    writeAtOnce(fileOf(this.#root, this.#host, 'expected', uuid), '{}');
  }

  unexpect(uuid: string): void {
    rmSync(fileOf(this.#root, this.#host, 'expected', uuid), { force: true });
  }

  /** By one `rename`, after what was prepared has been taken: whoever looks sees the guest on one host. */
  move(uuid: string, dest: string): boolean {
    if (this.state(uuid) === undefined) return false;
    const taken = unlessAbsent(() => {
      unlinkSync(fileOf(this.#root, dest, 'expected', uuid));
      return true;
    });
    if (taken !== true) return false;
    renameSync(this.#guest(uuid), fileOf(this.#root, dest, 'guests', uuid));
    return true;
  }

  kept(): readonly string[] {
    return namesIn(folderOf(this.#root, this.#host, 'kept'));
  }

  keep(uuid: string): void {
    unlessAbsent(() => {
      renameSync(this.#guest(uuid), this.#keptFile(uuid));
    });
  }

  takeBack(uuid: string): void {
    unlessAbsent(() => {
      renameSync(this.#keptFile(uuid), this.#guest(uuid));
    });
  }

  dropKept(uuid: string): void {
    rmSync(this.#keptFile(uuid), { force: true });
  }

  #keptFile(uuid: string): string {
    return fileOf(this.#root, this.#host, 'kept', uuid);
  }

  #guest(uuid: string): string {
    return fileOf(this.#root, this.#host, 'guests', uuid);
  }
}

/**
 * The machines of all hosts in one folder that their processes share: what stands for the network between hypervisors
 * when each compute host is a process of its own.
 */
export class HypervisorDirectory implements Hypervisors {
  /** In the folder `.images`, which cannot be the name of a host. */
  readonly images: ImageStore;
  readonly #root: string;

  /** @param root - made when it is not there */
  constructor(root: string) {
    this.#root = root;
    mkdirSync(root, { recursive: true });
    this.images = new ImageFolder(join(root, '.images'));
  }

  /**
   * The machine of a host, as folders that are made when they are not there.
   * @throws HypervisorError (`ERR_HYPERVISOR`) for a name that could not be a file's
   */
  storeOf(host: string): GuestStore {
    return new GuestFolder(this.#root, host);
  }

  /** The hosts on which a guest is, by name; looked up anew each time. */
  locate(uuid: string): readonly string[] {
    return this.#hosts().filter((host) => this.storeOf(host).state(uuid) !== undefined);
  }

  /** What is prepared on all hosts for guests that have not come, by host and uuid; looked up anew each time. */
  expected(): readonly { readonly host: string; readonly uuid: string }[] {
    return this.#hosts().flatMap((host) =>
      this.storeOf(host)
        .expected()
        .map((uuid) => ({ host, uuid })),
    );
  }

  #hosts(): readonly string[] {
    return readdirSync(this.#root, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map(({ name }) => name)
      .sort();
  }
}

function folderOf(root: string, host: string, folder: FolderName): string {
  return join(root, checkName('host', host), folder);
}

function fileOf(root: string, host: string, folder: FolderName, uuid: string): string {
  return join(folderOf(root, host, folder), `${checkName('guest', uuid)}${ENDING}`);
}

/** Hosts and ids come from the wire: none of them may lead out of the folder. */
function checkName(what: string, name: string): string {
  if (PLAIN_NAME.test(name)) return name;
  throw new HypervisorError(`The name of a ${what} must be ${PLAIN_NAME_TEXT}`);
}

function namesIn(folder: string): readonly string[] {
  const files = readdirSync(folder).filter((file) => file.endsWith(ENDING));
  return files.map((file) => file.slice(0, -ENDING.length)).sort();
}

function writeAtOnce(path: string, text: string): void {
  const draft = `${path}.new`;
  writeFileSync(draft, text);
  renameSync(draft, path);
}

function unlessAbsent<T>(step: () => T): T | undefined {
  try {
    return step();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function stateIn(text: string, uuid: string): GuestState {
  const { state } = JSON.parse(text) as { readonly state?: unknown }; // looked at right here
  if (typeof state === 'string' && STATES.has(state)) return state as GuestState; // one of its words
  throw new HypervisorError(`The file of guest ${uuid} tells no state`);
}

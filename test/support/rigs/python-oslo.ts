import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ensurePackages } from './debian.js';
import { type PrivateFolder, privateFolder } from './private-folder.js';

/** The scripts stay with the sources; this file runs from the build folder. */
const SCRIPTS = join(import.meta.dirname, '../../../../test/support/rigs');
/** Debian's own Python, which has the package; another may come first in PATH. */
const PYTHON = '/usr/bin/python3';

/** Where a call, cast or fanout goes, and how. */
export interface OsloCall {
  readonly topic: string;
  readonly method: string;
  readonly args?: Readonly<Record<string, unknown>>;
  readonly context?: Readonly<Record<string, unknown>>;
  readonly exchange?: string;
  readonly server?: string;
  readonly namespace?: string;
  readonly version?: string;
  readonly version_cap?: string;
  /** Seconds, as Python has it. */
  readonly timeout?: number;
  readonly call_monitor_timeout?: number;
  readonly retry?: number;
  readonly at_least_once?: boolean;
}

export interface OsloServer {
  readonly topic: string;
  readonly server: string;
  readonly exchange?: string;
  /** One with neither namespace nor version by default. Each has the methods of `Endpoint` in the script. */
  readonly endpoints?: readonly { readonly namespace?: string; readonly version?: string }[];
  /** By which `stop_server` and `wait_server` know it; the server's name by default. */
  readonly name?: string;
  readonly access_policy?: 'LegacyRPCAccessPolicy' | 'DefaultRPCAccessPolicy' | 'ExplicitRPCAccessPolicy';
}

/** A listener to notifications. */
export interface OsloListener {
  /** By which `stop_server` and `wait_server` know it. */
  readonly name: string;
  readonly topics: readonly string[];
  readonly priorities: readonly string[];
  readonly pool?: string;
  /** It hands back the first so many. */
  readonly requeue?: number;
}

/** A notification, and how it is sent. */
export interface OsloNotification {
  readonly driver: 'messaging' | 'messagingv2';
  readonly priority: string;
  readonly event_type: string;
  readonly payload: unknown;
  readonly topics: readonly string[];
  readonly publisher_id?: string;
  readonly context?: Readonly<Record<string, unknown>>;
}

/** What the peer can be told. */
export type OsloCommand =
  | ({ readonly command: 'start_server' } & OsloServer)
  | ({ readonly command: 'start_listener' } & OsloListener)
  | ({ readonly command: 'notify' } & OsloNotification)
  | { readonly command: 'stop_server' | 'wait_server'; readonly name: string }
  | ({ readonly command: 'call' | 'cast' | 'fanout' } & OsloCall)
  /** Lets the method `hold` return that was called with this key. */
  | { readonly command: 'release'; readonly key: string }
  | { readonly command: 'ready' };

/** The Python exception with which a command ended. */
export class OsloError extends Error {
  readonly type: string;
  readonly module: string;
  /** The names of its classes, the own first. */
  readonly mro: readonly string[];
  readonly args: readonly unknown[];

  constructor(told: Told) {
    super(told.text);
    this.name = told.type;
    this.type = told.type;
    this.module = told.module;
    this.mro = told.mro;
    this.args = told.args;
  }
}

/** A server of the peer has begun to handle a request. */
export interface OsloHandling {
  readonly event: 'handling';
  readonly server: string;
  readonly topic: string;
  readonly namespace: string | null;
  readonly method: string;
  readonly context: Readonly<Record<string, unknown>>;
  readonly args: Readonly<Record<string, unknown>>;
}

export interface OsloPeerOptions {
  /** Options of `[oslo_messaging_rabbit]`, as in the file: `{ rabbit_quorum_queue: true }`. */
  readonly rabbit?: Readonly<Record<string, string | number | boolean>>;
  /** Options of `[DEFAULT]`: `rpc_response_timeout`, `rpc_ping_enabled`. */
  readonly defaults?: Readonly<Record<string, string | number | boolean>>;
  /** Modules whose exceptions the client side may rebuild. */
  readonly allowedRemoteExmods?: readonly string[];
}

interface Waiter {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

interface Told {
  readonly type: string;
  readonly module: string;
  readonly mro: readonly string[];
  readonly text: string;
  readonly args: readonly unknown[];
}

/** A Python process with oslo.messaging: client and servers on one transport. It can be told the commands of its script. */
export class OsloPeer<Command extends { readonly command: string } = OsloCommand> {
  /** The requests that its servers have begun to handle, in order. */
  readonly handled: OsloHandling[] = [];
  /** Its log. */
  stderr = '';
  readonly ended: Promise<void>;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #folder: PrivateFolder;
  readonly #waiters = new Map<number, Waiter>();
  readonly #lookers = new Set<() => void>();
  readonly #taken = new Set<OsloHandling>();
  #sent = 0;
  #over = false;

  constructor(child: ChildProcessWithoutNullStreams, folder: PrivateFolder) {
    this.#child = child;
    this.#folder = folder;
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    child.stdin.on('error', () => {}); // it has ended; `ended` tells
    createInterface({ input: child.stdout }).on('line', (line) => this.#onLine(line));
    this.ended = new Promise((resolve) => {
      const end = (): void => {
        this.#over = true;
        for (const { reject } of this.#waiters.values()) reject(this.#goneError());
        this.#waiters.clear();
        this.#look();
        resolve();
      };
      child.once('close', end).once('error', end);
    });
  }

  /**
   * Tells it to do something; settles when that is done.
   *
   * @returns what the Python function returned
   * @throws OsloError - when it raised
   */
  send(command: Command): Promise<unknown> {
    if (this.#over) return Promise.reject(this.#goneError());
    this.#sent += 1;
    const id = this.#sent;
    return new Promise((resolve, reject) => {
      this.#waiters.set(id, { resolve, reject });
      this.#child.stdin.write(`${JSON.stringify({ id, ...command })}\n`);
    });
  }

  /** The first request to this method, so far or to come, that no earlier call has given. */
  async handling(method: string): Promise<OsloHandling> {
    for (;;) {
      const found = this.handled.find((one) => one.method === method && !this.#taken.has(one));
      if (found) {
        this.#taken.add(found);
        return found;
      }
      if (this.#over) throw this.#goneError();
      await new Promise<void>((resolve) => this.#lookers.add(resolve));
    }
  }

  /** SIGKILL: it has no time to say farewell to anyone. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
    await this.#folder.remove();
  }

  #onLine(line: string): void {
    const told = JSON.parse(line) as { id: number; result: unknown; error?: Told } | OsloHandling; // as the script says it
    if ('event' in told) {
      this.handled.push(told);
      this.#look();
      return;
    }
    const waiter = this.#waiters.get(told.id);
    this.#waiters.delete(told.id);
    if (told.error) waiter?.reject(new OsloError(told.error));
    else waiter?.resolve(told.result);
  }

  #look(): void {
    for (const resolve of this.#lookers) resolve();
    this.#lookers.clear();
  }

  #goneError(): Error {
    return new Error(`The Python peer has ended; its log: ${this.stderr.slice(-4000)}`);
  }
}

export function section(
  name: string,
  options: Readonly<Record<string, string | number | boolean>> = {},
): string {
  return `[${name}]\n${Object.entries(options)
    .map(([key, value]) => `${key} = ${String(value)}\n`)
    .join('')}`;
}

/** What a Python peer is started with. */
export interface PythonPeerOptions {
  /** The file in the folder of this one. */
  readonly script: string;
  /** Debian packages that it needs; installed when they are missing. */
  readonly packages: readonly string[];
  /** Its configuration, in the form of Nova's files. */
  readonly config: string;
  /** Its first argument. */
  readonly url: string;
  /** Members of its second argument, beside `config_file`. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** Starts a Python process; resolves when it is ready. */
export async function startPythonPeer<Command extends { readonly command: string }>(
  options: PythonPeerOptions,
  ready: Command,
): Promise<OsloPeer<Command>> {
  await ensurePackages(options.packages);
  const folder = await privateFolder('oslo');
  const file = join(folder.path, 'peer.conf');
  await writeFile(file, options.config);
  const settings = JSON.stringify({ config_file: file, ...options.settings });
  const argv = ['-u', join(SCRIPTS, options.script), options.url, settings];
  const peer = new OsloPeer<Command>(spawn(PYTHON, argv, { stdio: 'pipe' }), folder);
  try {
    await peer.send(ready);
  } catch (error) {
    await peer.kill();
    throw error;
  }
  return peer;
}

/** Starts a Python process that speaks oslo.messaging at this URL; installs the library when it is missing. */
export function startOsloPeer(url: string, options: OsloPeerOptions = {}): Promise<OsloPeer> {
  return startPythonPeer<OsloCommand>(
    {
      script: 'oslo_peer.py',
      packages: ['python3-oslo.messaging'],
      config: section('DEFAULT', options.defaults) + section('oslo_messaging_rabbit', options.rabbit),
      url,
      settings: { allowed_remote_exmods: options.allowedRemoteExmods },
    },
    { command: 'ready' },
  );
}

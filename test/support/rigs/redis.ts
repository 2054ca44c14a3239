import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { eventually } from './deadline.js';
import { ensurePackages } from './debian.js';
import { freePort } from './free-port.js';
import { type PrivateFolder, privateFolder } from './private-folder.js';
import { type Watchdog, watchdog } from './watchdog.js';

/** A port may be taken between the choice and the start. */
const TRIES = 3;
const START_LIMIT_MS = 20_000;
const STOP_LIMIT_MS = 10_000;

/** Settings of a server, as in its configuration file. */
export type RedisConfig = Readonly<Record<string, string>>;

/** A Redis server of our own on the loopback. It ends with this process at the latest, however that ends. */
export class RedisServer {
  readonly port: number;
  readonly #config: RedisConfig;
  readonly #word: string = `ebbgate-redis-${process.pid}-${randomBytes(4).toString('hex')}`;
  readonly #folder: PrivateFolder;
  #child: ChildProcess | undefined;
  #watchdog: Watchdog | undefined;
  #admin: Redis | undefined;
  readonly #endWithThis = (): void => void this.#child?.kill('SIGKILL');

  private constructor(folder: PrivateFolder, port: number, config: RedisConfig) {
    this.#folder = folder;
    this.port = port;
    this.#config = config;
  }

  /**
   * Installs Redis when it is missing and starts a server; takes a tenth of a second.
   * @param config - beside the port and the folder; by default nothing is written to disk
   */
  static async start(config: RedisConfig = {}): Promise<RedisServer> {
    await ensurePackages(['redis-server']);
    for (let attempt = 1; ; attempt += 1) {
      const server = new RedisServer(await privateFolder('redis'), await freePort(), config);
      try {
        await server.start();
        return server;
      } catch (error) {
        const log = await server.log();
        await server.dispose();
        if (attempt < TRIES && /Address already in use/i.test(log)) continue;
        throw new Error(`Redis did not start:\n${log.slice(-4000)}`, { cause: error });
      }
    }
  }

  /** Of its process; changes with {@link start}. */
  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error('It does not run');
    return pid;
  }

  get running(): boolean {
    return this.#child !== undefined;
  }

  /** @param query - options of the driver, as in a URL */
  url(query = ''): string {
    return `redis://127.0.0.1:${this.port}/0${query === '' ? '' : `?${query}`}`;
  }

  /** Runs a command, past all proxies. */
  command(name: string, ...args: (string | number)[]): Promise<unknown> {
    this.#admin ??= adminOf(this.port, this.#config['requirepass']);
    return this.#admin.call(name, args);
  }

  /** Starts it after {@link stop} or {@link kill}, with what it has kept. */
  async start(): Promise<void> {
    const config = {
      bind: '127.0.0.1',
      port: String(this.port),
      dir: this.#folder.path,
      'set-proc-title': 'no', // which would be written over the word by which the watchdog knows it
      save: '',
      appendonly: 'no',
      ...this.#config,
    };
    const output = openSync(this.#logFile, 'a');
    const args = Object.entries(config).flatMap(([name, value]) => [`--${name}`, value]);
    const child = spawn('redis-server', args, {
      env: { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8', EBBGATE_WORD: this.#word },
      cwd: this.#folder.path,
      detached: true,
      stdio: ['ignore', output, output],
    });
    closeSync(output);
    this.#child = child;
    child.once('exit', () => {
      this.#watchdog?.dismiss();
      process.off('exit', this.#endWithThis);
      if (this.#child === child) this.#child = undefined;
    });
    process.on('exit', this.#endWithThis);
    if (child.pid !== undefined)
      this.#watchdog = watchdog({ pid: child.pid, word: this.#word, folder: this.#folder.path });
    await this.#whenReady(child);
  }

  /** Ends it in order; with `appendonly` it keeps what it has. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** SIGSTOP: connections stay open, and nothing answers. {@link resume} ends it. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  /** SIGCONT. */
  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Ends it at once and removes its data. */
  async dispose(): Promise<void> {
    await this.kill();
    await this.#folder.remove();
  }

  /** What it has logged so far. */
  log(): Promise<string> {
    return readFile(this.#logFile, 'utf8').catch(() => '');
  }

  get #logFile(): string {
    return join(this.#folder.path, 'output.log');
  }

  async #whenReady(child: ChildProcess): Promise<void> {
    await eventually('Redis is ready', START_LIMIT_MS, async () => {
      if (this.#child !== child) throw new Error(`Redis has ended:\n${(await this.log()).slice(-2000)}`);
      return this.command('ping').then(
        () => true,
        () => false,
      );
    });
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#admin?.disconnect();
    this.#admin = undefined;
    const child = this.#child;
    child?.kill(signal);
    await eventually('Redis has ended', STOP_LIMIT_MS, () => child === undefined || this.#child !== child);
  }
}

function adminOf(port: number, password: string | undefined): Redis {
  const admin = new Redis({
    port,
    host: '127.0.0.1',
    ...(password !== undefined && { password }),
    retryStrategy: () => 20,
    maxRetriesPerRequest: 1,
  });
  admin.on('error', () => {}); // told by the command that fails
  return admin;
}

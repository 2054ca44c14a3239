import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { eventually, within } from './deadline.js';
import { ensurePackages } from './debian.js';
import { freePorts } from './free-port.js';
import { type PrivateFolder, privateFolder } from './private-folder.js';
import type { TlsFiles } from './tls-files.js';
import { type Watchdog, watchdog } from './watchdog.js';

/** A port may be taken between the choice and the start. */
const TRIES = 3;
const START_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 15_000;
const COMMAND_LIMIT_MS = 10_000;
/** What the connection of the rig itself is called. */
export const RIG = 'rig';

export interface RedisProcessOptions {
  /** A server, or a Sentinel, by its program. */
  readonly program?: 'redis-server' | 'redis-sentinel';
  /** Lines of its configuration, besides port, address and folder. */
  readonly config?: readonly string[];
  /** With a port of its own for the bus of a cluster. */
  readonly cluster?: boolean;
  /** It speaks TLS alone, to others of its kind, too. */
  readonly tls?: TlsFiles;
}

/** One Redis or Sentinel of our own on the loopback. It ends with this process at the latest, however that ends. */
export class RedisProcess {
  readonly port: number;
  readonly #program: string;
  readonly #folder: PrivateFolder;
  readonly #tls: TlsFiles | undefined;
  readonly #word: string = `ebbgate-redis-${process.pid}-${randomBytes(4).toString('hex')}`;
  #child: ChildProcess | undefined;
  #watchdog: Watchdog | undefined;
  #client: Redis | undefined;
  readonly #endWithThis = (): void => void this.#child?.kill('SIGKILL');

  private constructor(program: string, folder: PrivateFolder, port: number, tls: TlsFiles | undefined) {
    this.#program = program;
    this.#folder = folder;
    this.#tls = tls;
    this.port = port;
  }

  /** Installs it when it is missing, and starts it; well under a second. */
  static async start({
    program = 'redis-server',
    config = [],
    cluster = false,
    tls,
  }: RedisProcessOptions = {}): Promise<RedisProcess> {
    await ensurePackages(['redis-server', 'redis-sentinel']);
    for (let attempt = 1; ; attempt += 1) {
      const [port = 0, busPort = 0] = await freePorts(cluster ? 2 : 1);
      const one = new RedisProcess(program, await privateFolder('redis'), port, tls);
      const lines = cluster ? [...config, 'cluster-enabled yes', `cluster-port ${busPort}`] : config;
      try {
        await one.#configure(lines);
        await one.start();
        return one;
      } catch (error) {
        const log = await one.log();
        await one.dispose();
        if (attempt < TRIES && /address already in use/i.test(log)) continue;
        throw new Error(`${program} did not start:\n${log.slice(-4000)}`, { cause: error });
      }
    }
  }

  /** @param query - options of the driver, as in a URL */
  url(query = ''): string {
    return `redis://127.0.0.1:${this.port}/0${query === '' ? '' : `?${query}`}`;
  }

  get running(): boolean {
    return this.#child !== undefined;
  }

  /** The process and the folder of it, both gone after {@link dispose}. */
  get whereabouts(): { readonly pid: number | undefined; readonly folder: string } {
    return { pid: this.#child?.pid, folder: this.#folder.path };
  }

  /** Runs a command and gives its answer. */
  async ask(...command: readonly (string | number)[]): Promise<unknown> {
    const [name, ...args] = command;
    return within(
      command.join(' '),
      COMMAND_LIMIT_MS,
      this.#connection().call(String(name), args.map(String)),
    );
  }

  /** A section of INFO. */
  async info(section: string): Promise<ReadonlyMap<string, string>> {
    const lines = String(await this.ask('INFO', section)).split('\r\n');
    return new Map(lines.map((line) => [line.replace(/:.*/, ''), line.replace(/^[^:]*:/, '')]));
  }

  /** Starts it after {@link stop} or {@link kill}, on the same port, with what it has saved. */
  async start(): Promise<void> {
    if (this.#child) throw new Error('It runs');
    const output = openSync(this.#logFile, 'a');
    const child = spawn(this.#program, [this.#configFile], {
      env: { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8', EBBGATE_WORD: this.#word },
      cwd: this.#folder.path,
      // A session of its own: Ctrl-C in a terminal is for the tests, which then end it in their way.
      detached: true,
      stdio: ['ignore', output, output],
    });
    closeSync(output);
    this.#child = child;
    const ended = (): void => {
      this.#watchdog?.dismiss();
      process.off('exit', this.#endWithThis);
      if (this.#child === child) this.#child = undefined;
    };
    child.once('exit', ended).once('error', ended);
    process.on('exit', this.#endWithThis);
    if (child.pid !== undefined)
      this.#watchdog = watchdog({ pid: child.pid, word: this.#word, folder: this.#folder.path });
    await eventually(`${this.#program} answers`, START_LIMIT_MS, async () => {
      if (this.#child !== child) throw new Error(`${this.#program} has ended`);
      return this.ask('PING').then(
        () => true,
        () => false, // it does not listen yet, or still loads its data
      );
    });
  }

  /** SIGTERM: it saves what it is configured to save, and ends in order. */
  stop(): Promise<void> {
    return this.#end('SIGTERM');
  }

  /** SIGKILL. */
  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  /** SIGSTOP: its connections stay open, and nothing answers. */
  pause(): void {
    if (!this.#child) throw new Error('It does not run');
    this.#child.kill('SIGSTOP');
  }

  /** SIGCONT. */
  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Ends it at once and removes its data. */
  async dispose(): Promise<void> {
    await this.kill();
    this.#client?.disconnect();
    await this.#folder.remove();
  }

  /** What it has logged so far. */
  log(): Promise<string> {
    return readFile(this.#logFile, 'utf8').catch(() => '');
  }

  get #logFile(): string {
    return join(this.#folder.path, 'output.log');
  }

  get #configFile(): string {
    return join(this.#folder.path, 'redis.conf');
  }

  /** Sentinels, and replicas that become masters, write what they have learnt into their file. */
  #configure(lines: readonly string[]): Promise<void> {
    // A title would be written over its environment, by whose word the watchdog knows it.
    const ports = this.#tls ? tlsAlone(this.port, this.#tls) : [`port ${this.port}`];
    const own = [...ports, 'bind 127.0.0.1', `dir ${this.#folder.path}`, 'set-proc-title no'];
    return writeFile(this.#configFile, `${[...own, ...lines].join('\n')}\n`);
  }

  /** One that fails at once while the server is away, and connects anew for the next command. */
  #connection(): Redis {
    if (this.#client && ['end', 'close'].includes(this.#client.status)) this.#client = undefined;
    if (!this.#client) {
      this.#client = new Redis({
        ...{ host: '127.0.0.1', port: this.port, connectionName: RIG },
        ...{ enableReadyCheck: false, maxRetriesPerRequest: 0, retryStrategy: () => null },
        ...(this.#tls && { tls: { ca: readFileSync(this.#tls.ca) } }),
      });
      this.#client.on('error', () => {}); // who asks is told
    }
    return this.#client;
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (!child) return;
    const exit = once(child, 'exit');
    child.kill(signal);
    if (signal !== 'SIGKILL') child.kill('SIGCONT'); // which a paused one needs to hear it
    await within(`The end of ${this.#program}`, STOP_LIMIT_MS, exit);
  }
}

/** A server's configuration that saves nothing. */
export const NOT_SAVED: readonly string[] = ['save ""', 'appendonly no'];
/** One that hands each command to the system before it answers: a SIGKILL loses nothing, nothing waits for a disk. */
export const SAVED: readonly string[] = ['save ""', 'appendonly yes', 'appendfsync no'];

/** Nodes of a cluster show one another certificates of clients. */
const tlsAlone = (port: number, files: TlsFiles): readonly string[] => [
  ...['port 0', `tls-port ${port}`, 'tls-auth-clients no', 'tls-replication yes', 'tls-cluster yes'],
  ...[`tls-ca-cert-file ${files.ca}`, `tls-cert-file ${files.serverCert}`, `tls-key-file ${files.serverKey}`],
  ...[`tls-client-cert-file ${files.clientCert}`, `tls-client-key-file ${files.clientKey}`],
];

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { eventually } from './deadline.js';
import { ensurePackages } from './debian.js';
import { freePort } from './free-port.js';
import { type PrivateFolder, privateFolder } from './private-folder.js';
import { type Watchdog, watchdog } from './watchdog.js';

const SERVER = '/usr/sbin/nats-server';
/** A port may be taken between the choice and the start. */
const TRIES = 3;
const START_LIMIT_MS = 20_000;
const STOP_LIMIT_MS = 10_000;

/** A NATS server with JetStream on the loopback. It ends with this process at the latest, however that ends. */
export class NatsServer {
  readonly port: number;
  readonly #word: string = `ebbgate-nats-${process.pid}-${randomBytes(4).toString('hex')}`;
  readonly #folder: PrivateFolder;
  #child: ChildProcess | undefined;
  #watchdog: Watchdog | undefined;
  readonly #endWithThis = (): void => void this.#child?.kill('SIGKILL');

  private constructor(folder: PrivateFolder, port: number) {
    this.#folder = folder;
    this.port = port;
  }

  /** Installs it when it is missing, and starts it with an empty store. */
  static async start(): Promise<NatsServer> {
    await ensurePackages(['nats-server']);
    for (let attempt = 1; ; attempt += 1) {
      const server = new NatsServer(await privateFolder('nats'), await freePort());
      try {
        await server.start();
        return server;
      } catch (error) {
        const log = await server.log();
        await server.dispose();
        if (attempt < TRIES && log.includes('address already in use')) continue;
        throw new Error(`nats-server did not start:\n${log.slice(-4000)}`, { cause: error });
      }
    }
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}/`;
  }

  /** Starts it after {@link kill}, with its store. */
  async start(): Promise<void> {
    const store = join(this.#folder.path, 'store');
    await mkdir(store, { recursive: true });
    const output = openSync(this.#logFile, 'a');
    const flags = ['--addr', '127.0.0.1', '--port', String(this.port), '--jetstream', '--store_dir', store];
    const child = spawn(SERVER, flags, {
      env: { PATH: '/usr/bin:/bin', EBBGATE_WORD: this.#word },
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
    await eventually('nats-server is ready', START_LIMIT_MS, () => {
      if (this.#child !== child) throw new Error('nats-server has ended');
      return listens(this.port);
    });
  }

  /** SIGKILL: what it has confirmed is in its store. */
  async kill(): Promise<void> {
    const child = this.#child;
    child?.kill('SIGKILL');
    await eventually('nats-server has ended', STOP_LIMIT_MS, () => this.#child === undefined);
  }

  /** Ends it at once and removes its store. */
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
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}

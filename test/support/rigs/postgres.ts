import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, openSync } from 'node:fs';
import { chown, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from './deadline.js';
import { ensurePackages } from './debian.js';
import { idsOf, type UserIds } from './erlang-vm.js';
import { freePort } from './free-port.js';
import { type PrivateFolder, privateFolder } from './private-folder.js';
import { type Watchdog, watchdog } from './watchdog.js';

/** A port may be taken between the choice and the start. */
const TRIES = 3;
const START_LIMIT_MS = 60_000;
const STOP_LIMIT_MS = 30_000;
const INSTALLED = '/usr/lib/postgresql';
const USER = 'tester';
const execute = promisify(execFile);

/** A PostgreSQL cluster of our own on the loopback. It ends with this process at the latest, however that ends. */
export class PostgresCluster {
  readonly port: number;
  /** With characters that URLs must encode. */
  readonly password: string = `p@/${randomBytes(8).toString('hex')}`;
  readonly #word: string = `ebbgate-postgres-${process.pid}-${randomBytes(4).toString('hex')}`;
  readonly #bin: string;
  readonly #folder: PrivateFolder;
  readonly #ids: UserIds | undefined = idsOf('postgres');
  #child: ChildProcess | undefined;
  #watchdog: Watchdog | undefined;
  #databases = 0;
  readonly #endWithThis = (): void => void this.#child?.kill('SIGKILL');

  private constructor(bin: string, folder: PrivateFolder, port: number) {
    this.#bin = bin;
    this.#folder = folder;
    this.port = port;
  }

  /** Installs PostgreSQL when it is missing, makes a cluster and starts it; takes two to five seconds. */
  static async start(): Promise<PostgresCluster> {
    await ensurePackages(['postgresql']);
    const bin = await binFolder();
    for (let attempt = 1; ; attempt += 1) {
      const cluster = new PostgresCluster(bin, await privateFolder('postgres'), await freePort());
      try {
        await cluster.#init();
        await cluster.start();
        return cluster;
      } catch (error) {
        const log = await cluster.log();
        await cluster.dispose();
        if (attempt < TRIES && /could not bind|Address already in use/i.test(log)) continue;
        throw new Error(`PostgreSQL did not start:\n${log.slice(-4000)}`, { cause: error });
      }
    }
  }

  get running(): boolean {
    return this.#child !== undefined;
  }

  /** Makes an empty database and gives its URL. */
  async database(): Promise<string> {
    this.#databases += 1;
    const name = `test_${this.#databases}`;
    await this.sql('postgres', `create database ${name}`);
    return this.url(name);
  }

  /** @param how - another password or port: a wrong one, or that of a fault proxy */
  url(database: string, how: { readonly password?: string; readonly port?: number } = {}): string {
    const { password = this.password, port = this.port } = how;
    return `postgresql://${USER}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`;
  }

  /** Runs statements, each of them a transaction unless they say otherwise; gives what they print, without headings. */
  async sql(database: string, ...statements: readonly string[]): Promise<string> {
    const { stdout } = await execute(
      join(this.#bin, 'psql'),
      [
        ...['--no-psqlrc', '--quiet', '--tuples-only', '--no-align', '--set', 'ON_ERROR_STOP=1'],
        ...['--host', '127.0.0.1', '--port', String(this.port), '--username', USER, '--dbname', database],
        ...statements.flatMap((statement) => ['--command', statement]),
      ],
      { env: { ...this.#env(), PGPASSWORD: this.password }, timeout: START_LIMIT_MS, cwd: '/' },
    );
    return stdout;
  }

  /** Starts it after {@link stop} or {@link kill}, with its data. */
  async start(): Promise<void> {
    const output = openSync(this.#logFile, 'a');
    const settings = {
      listen_addresses: '127.0.0.1',
      port: this.port,
      unix_socket_directories: this.#folder.path,
    };
    // Nothing here outlives a crash of the machine, so nothing waits for its disk; crashes of the server lose nothing.
    const all = {
      ...settings,
      fsync: 'off',
      max_connections: 60,
      shared_buffers: '16MB',
      log_min_messages: 'warning',
    };
    const child = spawn(
      join(this.#bin, 'postgres'),
      ['-D', this.#data, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      {
        env: this.#env(),
        ...this.#ids,
        cwd: this.#folder.path,
        detached: true,
        stdio: ['ignore', output, output],
      },
    );
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

  /** Ends it in order, clients or not. */
  async stop(): Promise<void> {
    const child = this.#child;
    child?.kill('SIGINT');
    await this.#whenEnded(child);
  }

  /** SIGKILL to all its processes: whatever they are at, they are not at it any more. */
  async kill(): Promise<void> {
    const child = this.#child;
    child?.kill('SIGSTOP'); // it makes no more of them
    const children = await childrenOf(child?.pid);
    child?.kill('SIGKILL');
    for (const pid of children) killIfThere(pid);
    await this.#whenEnded(child);
    // They hold its memory, without which it does not start again.
    await eventually(
      'its processes have ended',
      STOP_LIMIT_MS,
      () => !children.some((pid) => existsSync(`/proc/${pid}`)),
    );
  }

  /** SIGSTOP to all its processes: connections stay open, and nothing answers. {@link resume} ends it. */
  async suspend(): Promise<void> {
    await this.#signalAll('SIGSTOP');
  }

  /** SIGCONT. */
  async resume(): Promise<void> {
    await this.#signalAll('SIGCONT');
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

  get #data(): string {
    return join(this.#folder.path, 'data');
  }

  get #logFile(): string {
    return join(this.#folder.path, 'output.log');
  }

  #env(): Record<string, string> {
    return { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8', EBBGATE_WORD: this.#word };
  }

  /** As another user than root, who may not run it. */
  async #init(): Promise<void> {
    const passwordFile = join(this.#folder.path, 'password');
    await writeFile(passwordFile, `${this.password}\n`, { mode: 0o600 });
    if (this.#ids)
      for (const path of [this.#folder.path, passwordFile]) await chown(path, this.#ids.uid, this.#ids.gid);
    await execute(
      join(this.#bin, 'initdb'),
      [
        ...['--pgdata', this.#data, '--username', USER, '--pwfile', passwordFile, '--auth', 'scram-sha-256'],
        ...['--encoding', 'UTF8', '--no-locale', '--no-sync'],
      ],
      { env: this.#env(), ...this.#ids, cwd: this.#folder.path, timeout: START_LIMIT_MS },
    );
  }

  async #whenReady(child: ChildProcess): Promise<void> {
    await eventually('PostgreSQL is ready', START_LIMIT_MS, async () => {
      if (this.#child !== child) throw new Error(`PostgreSQL has ended:\n${(await this.log()).slice(-2000)}`);
      return this.sql('postgres', 'select 1').then(
        () => true,
        () => false,
      );
    });
  }

  async #whenEnded(child: ChildProcess | undefined): Promise<void> {
    await eventually(
      'PostgreSQL has ended',
      STOP_LIMIT_MS,
      () => child === undefined || this.#child !== child,
    );
  }

  async #signalAll(signal: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    const { pid } = this.#child ?? {};
    if (pid === undefined) throw new Error('It does not run');
    for (const each of [pid, ...(await childrenOf(pid))]) process.kill(each, signal);
  }
}

/** Of the newest version that is installed. */
async function binFolder(): Promise<string> {
  const versions = (await readdir(INSTALLED)).sort((a, b) => Number(b) - Number(a));
  const [newest] = versions;
  if (newest === undefined) throw new Error(`There is no version of PostgreSQL in ${INSTALLED}`);
  return join(INSTALLED, newest, 'bin');
}

async function childrenOf(pid: number | undefined): Promise<number[]> {
  const text = await readFile(`/proc/${String(pid)}/task/${String(pid)}/children`, 'utf8').catch(() => '');
  return text.split(' ').filter(Boolean).map(Number);
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended with its parent.
  }
}

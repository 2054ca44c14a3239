import { randomBytes } from 'node:crypto';
import { cp, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensurePackages } from './debian.js';
import { ErlangVm } from './erlang-vm.js';
import { type PrivateFolder, privateFolder } from './private-folder.js';
import {
  rabbitCommand,
  type RabbitOptions,
  type RabbitSettings,
  rabbitSettings,
  SCRIPTS,
} from './rabbit-settings.js';
import { RabbitView } from './rabbit-view.js';
import type { TlsFiles } from './tls-files.js';

export type { RabbitOptions } from './rabbit-settings.js';

/** A port or a node name may be taken between the choice and the start. */
const TRIES = 3;
const HIGH_WATERMARK = '0.4';
const DISK_LIMIT = '50MB';

/** What a user may do in a virtual host: patterns of names, `.*` by default. */
export interface Permissions {
  readonly configure?: string;
  readonly write?: string;
  readonly read?: string;
}

/** A RabbitMQ node of our own on the loopback. It ends with this process at the latest, however that ends. */
export class RabbitNode {
  /** What is in it: queues, connections and so on. */
  readonly view: RabbitView;
  readonly #settings: RabbitSettings;
  readonly #folder: PrivateFolder;
  #vm: ErlangVm;

  private constructor(settings: RabbitSettings, folder: PrivateFolder) {
    this.#settings = settings;
    this.#folder = folder;
    this.view = new RabbitView(settings);
    this.#vm = this.#newVm();
  }

  /** Installs RabbitMQ when it is missing, and starts a node; takes 3 to 10 seconds. */
  static async start(options: RabbitOptions = {}): Promise<RabbitNode> {
    await ensurePackages(['rabbitmq-server', 'openssl']);
    for (let attempt = 1; ; attempt += 1) {
      const folder = await privateFolder('rabbit');
      const node = new RabbitNode(await rabbitSettings(folder.path, options), folder);
      try {
        await node.#vm.started;
        return node;
      } catch (error) {
        const output = `${await node.log()}${String(error)}`;
        await node.dispose();
        if (attempt < TRIES && /eaddrinuse|name.*(seems to be )?in use/i.test(output)) continue;
        throw new Error(`RabbitMQ did not start:\n${output.slice(-8000)}`, { cause: error });
      }
    }
  }

  /** The Erlang node, `name@localhost`. */
  get name(): string {
    return this.#settings.node;
  }

  get port(): number {
    return this.#settings.port;
  }

  /** @throws Error - when it was started without TLS */
  get tlsPort(): number {
    if (this.#settings.tlsPort === undefined) throw new Error('It was started without the option tls');
    return this.#settings.tlsPort;
  }

  /** @throws Error - when it was started without TLS */
  get tls(): TlsFiles {
    if (this.#settings.tls === undefined) throw new Error('It was started without the option tls');
    return this.#settings.tls;
  }

  /** The administrator, who has all rights in each virtual host made by {@link vhost}. */
  get user(): string {
    return this.#settings.user;
  }

  get password(): string {
    return this.#settings.password;
  }

  get running(): boolean {
    return this.#vm.running;
  }

  /** The process and the folder of it, both gone after {@link dispose}. */
  get whereabouts(): { readonly pid: number | undefined; readonly folder: string } {
    return { pid: this.#vm.pid, folder: this.#folder.path };
  }

  /** Makes a virtual host, by default with a name that is new, and gives the URL of it. */
  async vhost(name: string = `v-${randomBytes(4).toString('hex')}`): Promise<string> {
    await this.view.addVhost(name);
    return this.url(name);
  }

  /**
   * The URL of a virtual host: `rabbit://user:password@127.0.0.1:port/vhost`.
   *
   * @param how - another scheme, user or port: that of a fault proxy, say, or `rabbits` and {@link tlsPort}
   */
  url(
    vhost: string,
    how: { scheme?: string; host?: string; port?: number; user?: string; password?: string } = {},
  ): string {
    const { scheme = 'rabbit', host = '127.0.0.1', port = this.port } = how;
    const { user = this.user, password = this.password } = how;
    return `${scheme}://${user}:${password}@${host}:${port}/${encodeURIComponent(vhost)}`;
  }

  async addUser(name: string, password: string, vhost: string, permissions: Permissions = {}): Promise<void> {
    await this.view.addUser(name, password);
    await this.view.permit(name, vhost, permissions.configure, permissions.write, permissions.read);
  }

  /** Runs `rabbitmqctl` for this node and gives what it printed; about half a second. */
  ctl(...args: readonly string[]): Promise<string> {
    return rabbitCommand(this.#settings, 'rabbitmqctl', args);
  }

  /** Resolves when every quorum queue, and the cluster, can do without this node: to be awaited before {@link stop}. */
  async awaitOnlineQuorumPlusOne(): Promise<void> {
    await rabbitCommand(this.#settings, 'rabbitmq-upgrade', ['await_online_quorum_plus_one']);
  }

  /** The memory alarm: while it is on, who publishes is blocked (`connection.blocked`). */
  async memoryAlarm(on: boolean): Promise<void> {
    await this.ctl('set_vm_memory_high_watermark', ...(on ? ['absolute', '1'] : [HIGH_WATERMARK]));
  }

  /** The disk alarm, with the same effect. */
  async diskAlarm(on: boolean): Promise<void> {
    await this.ctl('set_disk_free_limit', on ? '1000000GB' : DISK_LIMIT);
  }

  /** Ends it in order; what is durable stays for the next {@link start}. */
  stop(): Promise<void> {
    return this.#vm.stop();
  }

  /** SIGKILL. */
  kill(): Promise<void> {
    return this.#vm.kill();
  }

  /** SIGSTOP: connections stay open, and nothing answers. */
  suspend(): void {
    this.#vm.suspend();
  }

  /** SIGCONT. */
  resume(): void {
    this.#vm.resume();
  }

  /** Starts it after {@link stop} or {@link kill}, on the same ports and with its data. */
  async start(): Promise<void> {
    if (this.#vm.running) throw new Error('It runs');
    this.#vm = this.#newVm();
    await this.#vm.started;
  }

  /** {@link stop} or {@link kill}, and {@link start}. */
  async restart(how: 'stop' | 'kill' = 'stop'): Promise<void> {
    await this[how]();
    await this.start();
  }

  /** Ends it at once and removes its data. */
  async dispose(): Promise<void> {
    await this.#vm.kill();
    await this.#folder.remove();
  }

  /** What it has logged so far. */
  async log(): Promise<string> {
    const parts = [this.#settings.outputFile, this.#settings.logFile].map((file) =>
      readFile(file, 'utf8').catch(() => ''),
    );
    return (await Promise.all(parts)).join('\n');
  }

  /** Copies its logs into a new folder under this one, for after {@link dispose}; gives its path. */
  async keepLogs(folder: string): Promise<string> {
    const kept = join(folder, this.name);
    await mkdir(kept, { recursive: true });
    await cp(join(this.#folder.path, 'log'), kept, { recursive: true });
    await cp(this.#settings.outputFile, join(kept, 'output.log'));
    return kept;
  }

  /** Lets this process end although the node runs; the node is ended then. */
  unref(): void {
    this.#vm.unref();
  }

  #newVm(): ErlangVm {
    const { env, ids, node, folder, outputFile } = this.#settings;
    return new ErlangVm({
      command: join(SCRIPTS, 'rabbitmq-server'),
      env,
      ids,
      word: node.replace(/@.*/, ''),
      folder,
      output: outputFile,
      startedText: 'completed with',
    });
  }
}

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { erlangText } from './erl-call.js';
import { idsOf, type UserIds } from './erlang-vm.js';
import { freePorts } from './free-port.js';
import { type TlsFiles, tlsFiles } from './tls-files.js';

/** What a private node may differ in. */
export interface RabbitOptions {
  /** A TLS listener with a certificate of a local authority; or the names for it, as openssl writes them. */
  readonly tls?: boolean | readonly string[];
  /** More settings of the application `rabbit`, as Erlang terms: `{channel_max, 10}`. */
  readonly config?: readonly string[];
  /** Plugins that come with the package: `rabbitmq_amqp1_0`. */
  readonly plugins?: readonly string[];
  /** The same for nodes that shall be one cluster. */
  readonly cookie?: string;
  readonly password?: string;
}

/** All that one node is made of. */
export interface RabbitSettings {
  readonly node: string;
  readonly folder: string;
  readonly port: number;
  readonly tlsPort: number | undefined;
  readonly tls: TlsFiles | undefined;
  readonly user: string;
  readonly password: string;
  readonly cookie: string;
  readonly ids: UserIds | undefined;
  /** The environment of the node and of the commands for it. */
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
  readonly outputFile: string;
}

/** Debian's own scripts; the ones in /usr/sbin change user by `su` and take no other log folder. */
export const SCRIPTS = '/usr/lib/rabbitmq/bin';
const USER = 'tester';

let made = 0;

function settingsFile(settings: Omit<RabbitSettings, 'env'>, extra: readonly string[]): string {
  const { port, tls, tlsPort, user, password } = settings;
  const rabbit = [
    `{tcp_listeners, [{"127.0.0.1", ${port}}]}`,
    '{disk_free_limit, 50000000}',
    '{loopback_users, []}',
    `{default_user, ${erlangText(user)}}`,
    `{default_pass, ${erlangText(password)}}`,
    ...extra,
  ];
  if (tls && tlsPort !== undefined)
    rabbit.push(
      `{ssl_listeners, [{"127.0.0.1", ${tlsPort}}]}`,
      `{ssl_options, [{cacertfile, "${tls.ca}"}, {certfile, "${tls.serverCert}"}, {keyfile, "${tls.serverKey}"},
        {verify, verify_peer}, {fail_if_no_peer_cert, false}]}`,
    );
  return `[{rabbit, [${rabbit.join(',\n  ')}]}].\n`;
}

function environment(settings: Omit<RabbitSettings, 'env'>, distPort: number): Record<string, string> {
  const { folder, node } = settings;
  return {
    PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
    LANG: 'C.UTF-8',
    HOME: folder,
    RABBITMQ_NODENAME: node,
    RABBITMQ_DIST_PORT: String(distPort),
    RABBITMQ_MNESIA_BASE: join(folder, 'data'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_PID_FILE: join(folder, 'pid'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
    // Erlang terms: the other form costs seconds of every start.
    RABBITMQ_CONFIG_FILE: join(folder, 'rabbitmq.config'),
    RABBITMQ_ADVANCED_CONFIG_FILE: join(folder, 'none'),
    RABBITMQ_CONF_ENV_FILE: join(folder, 'none'),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
    // Many commands may run at once; the default range has room for eleven.
    RABBITMQ_CTL_DIST_PORT_MAX: '36671',
    // If an epmd must be started, then on the loopback only.
    ERL_EPMD_ADDRESS: '127.0.0.1',
    ERL_CRASH_DUMP_BYTES: '0',
    // Makes the script become the Erlang VM, so that this child process is the VM itself.
    detached: 'yes',
  };
}

async function own(folder: string, ids: UserIds | undefined): Promise<void> {
  if (!ids) return;
  const names = await readdir(folder);
  for (const path of [folder, ...names.map((name) => join(folder, name))])
    await chown(path, ids.uid, ids.gid);
}

/** Fills a new folder with what a node needs, on ports that are free now. */
export async function rabbitSettings(folder: string, options: RabbitOptions): Promise<RabbitSettings> {
  const [port, distPort, tlsPort] = await freePorts(3);
  if (port === undefined || distPort === undefined) throw new Error('No free port');
  made += 1;
  const node = `ebbgate-${process.pid}-${made}-${randomBytes(3).toString('hex')}@localhost`;
  const names = Array.isArray(options.tls) ? (options.tls as readonly string[]) : undefined; // isArray forgets readonly
  const settings = {
    node,
    folder,
    port,
    tlsPort: options.tls ? tlsPort : undefined,
    tls: options.tls ? await tlsFiles(folder, names) : undefined,
    user: USER,
    password: options.password ?? randomBytes(8).toString('hex'),
    cookie: options.cookie ?? randomBytes(12).toString('hex'),
    ids: idsOf('rabbitmq'),
    logFile: join(folder, 'log', `${node}.log`),
    outputFile: join(folder, 'output.log'),
  };
  for (const name of ['data', 'log']) await mkdir(join(folder, name));
  await writeFile(join(folder, 'plugins'), `[${(options.plugins ?? []).join(',')}].\n`);
  await writeFile(join(folder, 'rabbitmq.config'), settingsFile(settings, options.config ?? []));
  await writeFile(join(folder, '.erlang.cookie'), settings.cookie, { mode: 0o400 });
  await own(folder, settings.ids);
  return { ...settings, env: environment(settings, distPort) };
}

const execute = promisify(execFile);
const COMMAND_LIMIT_MS = 60_000;

/** Runs one of RabbitMQ's own commands for the node and gives what it printed. */
export async function rabbitCommand(
  settings: RabbitSettings,
  command: 'rabbitmqctl' | 'rabbitmq-upgrade',
  args: readonly string[],
): Promise<string> {
  const { stdout } = await execute(join(SCRIPTS, command), ['--quiet', '--node', settings.node, ...args], {
    ...settings.ids,
    cwd: settings.folder,
    env: settings.env,
    timeout: COMMAND_LIMIT_MS,
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout;
}

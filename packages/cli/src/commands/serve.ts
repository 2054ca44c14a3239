import { hostname } from 'node:os';
import { RpcServer, type RpcServerOptions } from '@ebbgate/rpc';
import {
  budgetsFromConfig,
  launch,
  type Launched,
  Service,
  type ServiceOptions,
  taskInterceptor,
  TaskRegistry,
} from '@ebbgate/service';
import type { Command } from 'commander';
import type { CliContext } from '../cli-context.js';
import { type ConnectionOptions, findBroker, withConnectionOptions } from '../connection.js';
import { deferred } from '../deferred.js';
import { withHelpText } from '../help-text.js';
import { endpointsFor } from '../local-server.js';
import { seconds, whole } from '../option-values.js';
import { reportService, type Served } from '../serve-report.js';
import { stderrLogger } from '../stderr-logger.js';
import { UsageError } from '../usage-error.js';

interface ServeOptions extends ConnectionOptions {
  readonly topic: string;
  readonly server: string;
  readonly echo?: boolean;
  readonly endpoints?: string;
  readonly namespace?: string;
  readonly rpcVersion?: string;
  readonly slots?: number;
  readonly opsTopic?: string;
  readonly health?: number;
  /** Milliseconds, as all of these. */
  readonly gracefulShutdownTimeout?: number;
  readonly managerShutdownTimeout?: number;
  readonly cleanupTimeout?: number;
  readonly closingTimeout?: number;
}

const HELP = `
Prints what happens on stdout, a line each: listening, draining, the steps and tasks of a drain, drained.

SIGTERM and the first SIGINT drain: no new request is taken, what runs is finished and answered, follow-ups are still
served on the ops topic until then. A SIGINT while it drains ends it at once.

Exit codes: 0 all was answered · 1 could not start · 2 usage · 3 work was left · 4 the overall time-out ended it ·
130 SIGINT while draining.

An endpoints file is a module. Every function that it exports is a method, given (context, args), args by name:

  // endpoints.mjs
  export async function add(context, { a, b }) {
    return a + b;
  }
  export const target = { version: '1.2' };   // optional: what it answers to

An exported object with methods is an endpoint of its own. A default export stands for all: an endpoint, a list of
them, or a function that makes them from { transport, topic, server, tasks, listening }.

Examples:
  ebbgate serve --url rabbit://localhost/ --topic demo --server s1 --echo
  ebbgate serve --topic demo --server s1 --endpoints ./endpoints.mjs --ops-topic demo-ops --health 8080
  ebbgate serve --topic demo --echo --manager-shutdown-timeout 20 --graceful-shutdown-timeout 60

Times are in seconds. At memory: only what the endpoints file itself sends can arrive.`;

/** `ebbgate serve` */
export function addServe(program: Command, context: CliContext): void {
  const command = program.command('serve').summary('run a server that drains before it ends');
  command.description('Serves methods on a topic until SIGTERM or SIGINT, and drains before it ends.');
  command
    .requiredOption('--topic <name>', 'the topic to listen on; needed')
    .option('--server <name>', 'the name of this server within the topic', hostname())
    .option(
      '--echo',
      'serve echo, which answers with its argument message, and sink, which answers with nothing',
    )
    .option('--endpoints <file>', 'serve the endpoints of a module')
    .option('--namespace <name>', 'namespace of endpoints without a target')
    .option('--rpc-version <version>', 'version of endpoints without a target (default: 1.0)')
    .option('--slots <number>', 'handlers at the same time (default: 64)', whole(1, 1_000_000))
    .option('--ops-topic <name>', 'a second topic that is served until the tasks have ended')
    .option('--health <port>', 'serve /livez and /readyz on that port of 127.0.0.1; 0: any', whole(0, 65_535))
    .option('--graceful-shutdown-timeout <seconds>', 'longest drain; 0: no limit (default: 180)', seconds)
    .option(
      '--manager-shutdown-timeout <seconds>',
      'for tasks to end; 0: do not wait (default: 160)',
      seconds,
    )
    .option('--cleanup-timeout <seconds>', 'for cleaning up (default: 10)', seconds)
    .option('--closing-timeout <seconds>', 'for replies and acknowledgements (default: 5)', seconds);
  withConnectionOptions(command);
  withHelpText(command, HELP);
  command.action(async (options: ServeOptions) => {
    process.on('SIGHUP', ignoreReload);
    let launched: Launched;
    try {
      const service = await makeService(context, options);
      context.interrupted.throwIfAborted();
      const { signals, exit, output } = context;
      const logger = stderrLogger(output, options.verbose === true ? 'debug' : 'warn');
      launched = launch(service, { logger, ...(signals && { signals }), ...(exit && { exit }) });
      context.releaseSignals?.();
    } finally {
      process.off('SIGHUP', ignoreReload);
    }
    context.exitCode = await launched.done;
  });
}

/** Until the service hears SIGHUP itself: with nobody listening it would end the process (GS-106). */
function ignoreReload(): void {
  // There is nothing yet that could be read again.
}

async function makeService(context: CliContext, options: ServeOptions): Promise<Service> {
  if ((options.echo === true) === (options.endpoints !== undefined)) {
    throw new UsageError('What is to be served? Give either --echo or --endpoints FILE');
  }
  const budgets = budgetsOf(options);
  const transport = (await findBroker(context, options)).open();
  const { topic, server, exchange, opsTopic, slots, health } = options;
  const registry = new TaskRegistry({ logger: transport.logger });
  const listening = deferred();
  const endpoints = await endpointsFor(context, options, {
    transport,
    topic,
    server,
    tasks: registry,
    listening: listening.promise,
  });
  const serverOptions: RpcServerOptions = {
    ping: true,
    interceptors: [taskInterceptor(registry)],
    ...(slots !== undefined && { slots }),
  };
  const serverFor = (on: string): RpcServer =>
    new RpcServer(transport, { exchange, topic: on, server }, endpoints, serverOptions);
  const newRequestServer = serverFor(topic);
  const opsServer = opsTopic === undefined ? undefined : serverFor(opsTopic);
  const service = new Service({
    name: topic,
    host: server,
    newRequestServer,
    registry,
    budgets,
    logger: transport.logger,
    onExit: () => transport.close(),
    ...(opsServer && { opsServer }),
    ...(health !== undefined && { health: { port: health } }),
  });
  const served: Served = {
    url: transport.url,
    servers: [
      { role: 'new-request', topic, server, rpc: newRequestServer },
      ...(opsServer && opsTopic !== undefined
        ? [{ role: 'ops', topic: opsTopic, server, rpc: opsServer } as const]
        : []),
    ],
  };
  reportService(context.output, service, served, options.verbose === true);
  service.events.on('state', ({ state }) => {
    if (state === 'running') listening.resolve();
  });
  return service;
}

/** In seconds, under the names that configuration files have, so that errors name them. */
function budgetsOf(options: ServeOptions): NonNullable<ServiceOptions['budgets']> {
  const given = {
    graceful_shutdown_timeout: options.gracefulShutdownTimeout,
    manager_shutdown_timeout: options.managerShutdownTimeout,
    cleanup_timeout: options.cleanupTimeout,
    closing_timeout: options.closingTimeout,
  };
  const entries = Object.entries(given).flatMap(([name, ms]) =>
    ms === undefined ? [] : [[name, ms / 1000] as const],
  );
  return budgetsFromConfig(Object.fromEntries(entries));
}

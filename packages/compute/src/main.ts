#!/usr/bin/env node
import { tmpdir } from 'node:os';
import { ConfigurationError, type Logger, MessagingError, silentLogger } from '@ebbgate/core';
import { Command, CommanderError } from 'commander';
import { brokerAt, isInProcess } from './main/broker.js';
import { runCompute } from './main/compute-daemon.js';
import { runConductor } from './main/conductor-daemon.js';
import { stderrLog } from './main/daemon.js';
import { readComputeOptions, readConductorOptions, withDaemonFlags } from './main/daemon-options.js';
import { type JobParts, runMainJob } from './main-job.js';
import { DaemonError } from './main-job/daemon.js';
import { Interruption, INTERRUPTION_CODES } from './main-job/interruption.js';
import type { View } from './main-job/job-events.js';
import { type JobOptions, readJobOptions } from './main-job/job-options.js';
import { JsonView } from './main-job/json-view.js';
import { LiveView } from './main-job/live-view.js';
import { PlainView } from './main-job/plain-view.js';
import { methodsText } from './rpc/methods-text.js';

const DAEMON_HELP = `
SIGTERM and the first SIGINT drain; a SIGINT while it drains ends it at once.
Exit codes: 0 all was finished · 1 could not start · 2 usage · 3 work was left · 4 the overall time-out ended it ·
130 SIGINT while draining.`;

const EXIT = { holds: 0, broken: 1, usage: 2, outputClosed: 141 } as const;

function makeView(json: boolean, now: () => number): View {
  const { stdout } = process;
  const write = (text: string): void => void stdout.write(text);
  if (json) return new JsonView(write);
  const canDraw = stdout.isTTY && process.env['TERM'] !== 'dumb' && process.env['CI'] === undefined;
  return canDraw ? new LiveView(stdout, now) : new PlainView(write);
}

/** With a broker that other processes can reach each host is one. */
async function processesFor(
  { transport, logs }: JobOptions,
  logger: Logger,
): Promise<Pick<JobParts, 'processes'>> {
  if (isInProcess(transport)) return {};
  const open = await brokerAt(transport);
  const processes = {
    program: import.meta.filename,
    env: process.env,
    temporaryFolder: tmpdir(),
    openTransport: () => open(logger),
    ...(logs && { logTo: process.stderr }),
  };
  return { processes };
}

/**
 * Aborts, with an {@link Interruption}, when the process gets SIGINT or SIGTERM. A second signal ends the process at
 * once: there must be a way out of an end that hangs.
 */
function interruptedBySignals(): AbortSignal {
  const abort = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (abort.signal.aborted) process.exit(INTERRUPTION_CODES[signal]);
      abort.abort(new Interruption(signal));
    });
  }
  return abort.signal;
}

async function mainJob(flags: unknown): Promise<void> {
  endWithReader();
  const options = readJobOptions(flags);
  const logger = options.logs ? stderrLog('info') : silentLogger;
  const processes = await processesFor(options, logger);
  const interrupted = interruptedBySignals();
  const beganAt = performance.now();
  const now = (): number => performance.now() - beganAt;
  const view = makeView(options.json, now);
  try {
    const holds = await runMainJob(options, { view, logger, now, interrupted, ...processes });
    process.exitCode = holds ? EXIT.holds : EXIT.broken;
  } finally {
    view.end();
  }
}

function addDaemons(root: Command): void {
  const compute = root
    .command('compute')
    .description('A compute host with a fake hypervisor. SIGTERM drains it.')
    .option('--host <name>', 'its name: the server of its topics (default: that of the machine)')
    .requiredOption('--state-dir <folder>', 'where the guests of all hosts are kept; shared by them; needed')
    .option('--boot-ms <ms>', 'how long a boot takes (default: 600)')
    .option('--migration-ms <ms>', 'how long the memory of a guest takes to be copied (default: 4000)')
    .option('--ops-topic <name>', 'topic of what finishes operations (default: compute-ops)')
    .option('--no-ops-server', 'serve topic compute only')
    .option('--max-concurrent-builds <n>', 'default: 10')
    .option('--max-concurrent-live-migrations <n>', 'default: 1')
    .option('--recheck-interval <seconds>', 'how often operations held open are checked (default: 10)');
  withDaemonFlags(compute).action((flags: unknown) => runCompute(readComputeOptions(flags)));
  const conductor = root
    .command('conductor')
    .description('A conductor: has the records, unless told otherwise. SIGTERM drains it.')
    .option('--name <name>', 'its name: the server of its topics (default: that of the machine)')
    .option(
      '--records <where>',
      'memory: has them, and serves them to all; rpc: uses those (default: memory)',
    );
  withDaemonFlags(conductor).action((flags: unknown) => runConductor(readConductorOptions(flags)));
  for (const daemon of [compute, conductor]) daemon.addHelpText('after', DAEMON_HELP);
}

function program(): Command {
  const root = new Command('ebbgate-compute')
    .description('The compute service of Ebbgate.')
    .exitOverride()
    .showHelpAfterError();
  root
    .command('main-job')
    .description(
      'Boots the instance of a recorded Nova request, moves it live to another host, and sends SIGTERM in the middle.\n' +
        'Exit code: 0 when all invariants hold, 1 when not, 2 for a wrong flag, 130 or 143 when ended by SIGINT or SIGTERM.',
    )
    .option('--hosts <n>', 'compute hosts, at least 2 (default: 2)')
    .option('--instances <n>', 'instances that migrate, one after another (default: 1)')
    .option('--migration-ms <ms>', 'how long the memory of one takes to be copied (default: 4000)')
    .option('--boot-ms <ms>', 'how long a boot takes (default: 600)')
    .option('--drain <end>', 'who gets SIGTERM: source, dest or both (default: source)')
    .option('--no-ops-server', 'hosts without an ops server: shows what it is there to prevent')
    .option('--json', 'one JSON object a line')
    .option('--logs', 'also print what the services log, on stderr')
    .option(
      '--transport <url>',
      'the broker; with rabbit://… each host is a process of its own (default: memory:)',
    )
    .action(mainJob);
  addDaemons(root);
  root
    .command('methods')
    .description('Prints the table of compute methods: version, call or cast, topic, arguments.')
    .option('--json', 'as one JSON object')
    .action(({ json }: { readonly json?: boolean }) => {
      endWithReader();
      process.stdout.write(methodsText(json === true));
    });
  for (const command of root.commands) command.exitOverride();
  return root;
}

/** For commands that are there to print; a daemon goes on without readers. */
function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // Whoever read the output is gone, as with `| head`: nobody is left to be told anything.
    if (error.code === 'EPIPE') process.exit(EXIT.outputClosed);
    process.stderr.write(`${describe(error)}\n`);
    process.exit(EXIT.broken);
  });
}

async function main(): Promise<void> {
  try {
    await program().parseAsync();
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? 0 : EXIT.usage; // help and version are no errors
      return;
    }
    if (error instanceof Interruption) process.exit(error.exitCode); // what was cut off may hold it open for a while
    process.exitCode = isUsage(error) ? EXIT.usage : EXIT.broken;
    process.stderr.write(`${describe(error)}\n`);
  }
}

function isUsage(error: unknown): boolean {
  return (
    error instanceof ConfigurationError ||
    (error instanceof MessagingError && ['ERR_DRIVER_LOAD', 'ERR_INVALID_TRANSPORT_URL'].includes(error.code))
  );
}

function describe(error: unknown): string {
  if (error instanceof DaemonError || (isUsage(error) && error instanceof Error))
    return `error: ${error.message}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

await main();

#!/usr/bin/env node
import { tmpdir } from 'node:os';
import { ConfigurationError, type Logger, MessagingError, redactText, silentLogger } from '@ebbgate/core';
import { Command, CommanderError } from 'commander';
import { DatabaseError } from './errors.js';
import { brokerAt, isInProcess } from './main/broker.js';
import { stderrLog } from './main/daemon.js';
import { cellCommand } from './main/cell-commands.js';
import { daemonCommands } from './main/daemon-commands.js';
import { canDraw } from './main/local-terminal.js';
import { methodsCommand } from './main/methods-command.js';
import { operatorCommands } from './main/operator-commands.js';
import type { JobParts } from './main-job.js';
import { DaemonError } from './main-job/daemon.js';
import { Interruption, INTERRUPTION_CODES } from './main-job/interruption.js';
import type { View } from './main-job/job-events.js';
import { type JobOptions, readJobOptions } from './main-job/job-options.js';
import { JsonView } from './main-job/json-view.js';
import { LiveView } from './main-job/live-view.js';
import { PlainView } from './main-job/plain-view.js';
import { OperatorError, OperatorUsageError } from './operator/work.js';

const EXIT = { holds: 0, broken: 1, usage: 2, outputClosed: 141 } as const;

function makeView(json: boolean, now: () => number): View {
  const { stdout } = process;
  const write = (text: string): void => void stdout.write(text);
  if (json) return new JsonView(write);
  return canDraw() ? new LiveView(stdout, now) : new PlainView(write);
}

/** With a broker that other processes can reach each host is one. */
async function processesFor(
  { transport, driver, exchange, logs }: JobOptions,
  logger: Logger,
): Promise<Pick<JobParts, 'processes'>> {
  if (isInProcess(transport)) return {};
  const open = await brokerAt(transport, { exchange, driver });
  const processes = {
    program: import.meta.filename,
    env: { ...process.env, ...(driver !== undefined && { EBBGATE_DRIVER: driver }) },
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
    const { runMainJob } = await import('./main-job.js');
    const parts = { view, logger, now, interrupted, temporaryFolder: tmpdir() };
    const holds = await runMainJob(options, { ...parts, ...processes });
    process.exitCode = holds ? EXIT.holds : EXIT.broken;
  } finally {
    view.end();
  }
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
    .option('--driver <package>', 'a package or file with a driver for it (default: ours for the scheme)')
    .option('--exchange <name>', 'the naming scope of all topics (default: nova)')
    .option('--database <url>', 'has the records (default: a new SQLite file, removed at the end)')
    .action(mainJob);
  for (const command of operatorCommands(endWithReader)) root.addCommand(command);
  for (const command of daemonCommands()) root.addCommand(command.copyInheritedSettings(root));
  root.addCommand(cellCommand(endWithReader));
  root.addCommand(methodsCommand(endWithReader).copyInheritedSettings(root));
  addDocument(root, 'openapi', 'Prints the OpenAPI description of the HTTP API.', async () =>
    (await import('./main/api-description.js')).apiDescription(),
  );
  const ofBus = 'Prints the AsyncAPI description of the RPC interface and the notifications.';
  addDocument(root, 'asyncapi', ofBus, async () =>
    (await import('./main/asyncapi-description.js')).asyncApiDescription(),
  );
  for (const command of root.commands) command.exitOverride();
  redactErrors(root);
  return root;
}

/** What does not belong on a command line may be a URL: it is told without its password. */
function redactErrors(command: Command): void {
  command.configureOutput({ outputError: (text, write) => write(redactText(text)) });
  for (const each of command.commands) redactErrors(each);
}

/** A command that prints a document. @param load - with what only it needs */
function addDocument(root: Command, name: string, about: string, load: () => Promise<string>): void {
  root
    .command(name)
    .description(about)
    .action(async () => {
      endWithReader();
      process.stdout.write(await load());
    });
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
    error instanceof OperatorUsageError ||
    (error instanceof MessagingError && ['ERR_DRIVER_LOAD', 'ERR_INVALID_TRANSPORT_URL'].includes(error.code))
  );
}

/** Such as a full disk, or a file that is another user's. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

function describe(error: unknown): string {
  return redactText(textOf(error));
}

function textOf(error: unknown): string {
  if (error instanceof DaemonError || error instanceof DatabaseError || error instanceof OperatorError)
    return `error: ${error.message}`;
  if (isSystemError(error)) return `error: ${error.message}`; // it names the call and the file
  if (isUsage(error) && error instanceof Error) return `error: ${error.message}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

await main();

#!/usr/bin/env node
import { ConfigurationError, type Logger, MessagingError, silentLogger } from '@ebbgate/core';
import { Command, CommanderError } from 'commander';
import { pino } from 'pino';
import { runMainJob } from './main-job.js';
import type { View } from './main-job/job-events.js';
import { type JobOptions, readJobOptions } from './main-job/job-options.js';
import { JsonView } from './main-job/json-view.js';
import { LiveView } from './main-job/live-view.js';
import { PlainView } from './main-job/plain-view.js';
import { methodsText } from './rpc/methods-text.js';

const EXIT = { holds: 0, broken: 1, usage: 2 } as const;

function makeView(json: boolean, now: () => number): View {
  const { stdout } = process;
  const write = (text: string): void => void stdout.write(text);
  if (json) return new JsonView(write);
  const canDraw = stdout.isTTY && process.env['TERM'] !== 'dumb' && process.env['CI'] === undefined;
  return canDraw ? new LiveView(stdout, now) : new PlainView(write);
}

/** Logs go to stderr, so that what is printed stays readable by machines. */
function makeLogger({ logs }: JobOptions): Logger {
  if (!logs) return silentLogger;
  return pino({ level: 'info', redact: ['*.password', '*.admin_password', '*.url'] }, pino.destination(2));
}

async function mainJob(flags: unknown): Promise<void> {
  const options = readJobOptions(flags);
  const beganAt = performance.now();
  const now = (): number => performance.now() - beganAt;
  const view = makeView(options.json, now);
  try {
    const holds = await runMainJob(options, { view, logger: makeLogger(options), now });
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
        'Exit code: 0 when all invariants hold, 1 when not, 2 for a wrong flag.',
    )
    .option('--hosts <n>', 'compute hosts, at least 2 (default: 2)')
    .option('--instances <n>', 'instances that migrate, one after another (default: 1)')
    .option('--migration-ms <ms>', 'how long the memory of one takes to be copied (default: 4000)')
    .option('--boot-ms <ms>', 'how long a boot takes (default: 600)')
    .option('--drain <end>', 'who gets SIGTERM: source, dest or both (default: source)')
    .option('--no-ops-server', 'hosts without an ops server: shows what it is there to prevent')
    .option('--json', 'one JSON object a line')
    .option('--logs', 'also print what the services log, on stderr')
    .option('--transport <url>', 'the broker (default: memory:)')
    .action(mainJob);
  root
    .command('methods')
    .description('Prints the table of compute methods: version, call or cast, topic, arguments.')
    .option('--json', 'as one JSON object')
    .action(({ json }: { readonly json?: boolean }) => void process.stdout.write(methodsText(json === true)));
  for (const command of root.commands) command.exitOverride();
  return root;
}

async function main(): Promise<void> {
  try {
    await program().parseAsync();
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? 0 : EXIT.usage; // help and version are no errors
      return;
    }
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
  if (isUsage(error) && error instanceof Error) return `error: ${error.message}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

await main();

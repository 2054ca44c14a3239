import { redactedCause } from '@ebbgate/core';
import { CommanderError } from 'commander';
import type { CliContext, CliEnvironment } from './cli-context.js';
import { cliExitCodes } from './exit-codes.js';
import { Output } from './output.js';
import { createProgram } from './program.js';
import { UsageError } from './usage-error.js';

/**
 * Runs one command, as `ebbgate` does: everything is said on the streams of the environment.
 *
 * @param argv - without the program's own name
 * @returns the exit code; see {@link cliExitCodes}. Never rejects.
 */
export async function runCli(argv: readonly string[], environment: CliEnvironment): Promise<number> {
  const output = new Output(environment.stdout, environment.stderr, wantsJson(argv));
  const { interrupted = new AbortController().signal } = environment;
  const context: CliContext = { ...environment, interrupted, output, exitCode: cliExitCodes.ok };
  const program = createProgram(context);
  const command = program.commands.find((each) => each.name() === argv[0]);
  const name = command ? `ebbgate ${command.name()}` : 'ebbgate';
  let exitCode: number;
  try {
    await program.parseAsync(argv, { from: 'user' });
    exitCode = context.exitCode;
  } catch (thrown) {
    exitCode = failAnyhow(output, name, thrown);
  }
  await output.flush();
  if (!output.failure || exitCode !== cliExitCodes.ok) return exitCode;
  return output.fail(name, output.failure);
}

/** Known before the options are read, so that what is wrong with them is told as JSON too. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv.slice(0, end < 0 ? argv.length : end).includes('--json');
}

/** Modules of the user's may throw anything, also a proxy that refuses to say what it is. */
function failAnyhow(output: Output, name: string, thrown: unknown): number {
  try {
    return fail(output, name, thrown);
  } catch {
    return fail(output, name, redactedCause(thrown));
  }
}

function fail(output: Output, name: string, error: unknown): number {
  return isHelp(error) ? helpExitCode(error) : output.fail(name, usageError(error, name));
}

/** Help or the version was asked for, or printed because there was no command. */
function isHelp(error: unknown): error is CommanderError {
  if (!(error instanceof CommanderError)) return false;
  return error.exitCode === 0 || error.code === 'commander.help';
}

function helpExitCode(error: CommanderError): number {
  return error.exitCode === 0 ? cliExitCodes.ok : cliExitCodes.usage;
}

function usageError(error: unknown, name: string): unknown {
  if (!(error instanceof CommanderError)) return error;
  const text = error.message
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ')
    .replace(/\.$/, '');
  return new UsageError(`${text}; see "${name} --help"`);
}

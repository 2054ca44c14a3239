#!/usr/bin/env node
import { cliExitCodes, Interruption } from './exit-codes.js';
import { runCli } from './run-cli.js';

/** A command that was told to end gets so long. */
const END_MS = 2_000;

const interruption = new AbortController();
const onInterrupt = endBy('SIGINT', cliExitCodes.interrupted);
const onTerminate = endBy('SIGTERM', cliExitCodes.terminated);
process.on('SIGINT', onInterrupt);
process.on('SIGTERM', onTerminate);

const { stdin, stdout, stderr, env } = process;
const exitCode = await runCli(process.argv.slice(2), {
  stdin,
  stdout,
  stderr,
  env,
  cwd: process.cwd(),
  interrupted: interruption.signal,
  releaseSignals: () => {
    process.off('SIGINT', onInterrupt);
    process.off('SIGTERM', onTerminate);
  },
});
// A module of the user's may have left timers or sockets behind.
process.exit(exitCode);

function endBy(signal: string, code: number): () => void {
  return () => {
    if (interruption.signal.aborted) process.exit(code);
    interruption.abort(new Interruption(`Ended by ${signal}`, code));
    setTimeout(() => process.exit(code), END_MS).unref();
  };
}

import { createHistogram, performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { MessagingError } from '@ebbgate/core';
import type { RpcClient } from '@ebbgate/rpc';
import type { Command } from 'commander';
import type { CliContext } from '../cli-context.js';
import { withConnectionOptions } from '../connection.js';
import { exitCodeFor } from '../exit-codes.js';
import { describeFailure } from '../failure-report.js';
import { withHelpText } from '../help-text.js';
import { latencyOf } from '../latency.js';
import { type LocalServerOptions, withLocalServerOptions, withSession } from '../local-server.js';
import { seconds, secondsOption, someSeconds, whole } from '../option-values.js';
import { makeClient } from '../sending.js';

interface PingOptions extends LocalServerOptions {
  readonly count: number;
  /** Milliseconds. */
  readonly interval: number;
  /** Milliseconds. */
  readonly timeout: number;
}

const PING = 'oslo_rpc_server_ping';

const HELP = `
Calls oslo_rpc_server_ping, as oslo.messaging servers with rpc_ping_enabled and "ebbgate serve" answer it.
Prints a line for each answer and the totals at the end.

Examples:
  ebbgate ping --topic demo --serve-echo
  ebbgate ping --url rabbit://localhost/ --topic compute --server host1 --count 1 --timeout 2
  ebbgate ping --url rabbit://localhost/ --topic compute --count 0 --interval 0.2 --json

Times are in seconds. Exit codes: 0 every ping was answered; else that of the last failure: 10 no answer in time ·
11 nobody listens there · 13 the server does not answer pings · 14 no connection. "ebbgate --help" has all.`;

/** `ebbgate ping` */
export function addPing(program: Command, context: CliContext): void {
  const command = program.command('ping').summary('ask whether a server answers, and how fast');
  command.description(
    'Asks one of the servers of a topic, or exactly one, whether it answers, and measures how long that takes.',
  );
  command
    .requiredOption('--topic <name>', 'the topic of the servers; needed')
    .option('--server <name>', 'exactly that server (default: any)')
    .option('--count <number>', 'how many pings; 0: until SIGINT', whole(0), 4)
    .addOption(secondsOption('--interval <seconds>', 'from one ping to the next', 1_000, seconds))
    .addOption(secondsOption('--timeout <seconds>', 'how long to wait for each answer', 5_000, someSeconds));
  withLocalServerOptions(withConnectionOptions(command));
  withHelpText(command, HELP);
  command.action(async (options: PingOptions) => {
    await withSession(context, options, { ping: true }, async ({ transport }) => {
      await pingAll(context, makeClient(transport, options, options.timeout), options);
    });
  });
}

async function pingAll(context: CliContext, client: RpcClient, options: PingOptions): Promise<void> {
  const { output } = context;
  const signal = AbortSignal.any([context.interrupted, output.stdoutGone]);
  const rtt = createHistogram();
  let sent = 0;
  try {
    while (options.count === 0 || sent < options.count) {
      if (sent > 0) await sleep(options.interval, undefined, { signal });
      sent += 1;
      const failure = await pingOnce(context, client, sent, rtt, signal);
      if (failure !== undefined) context.exitCode = failure;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    if (options.count > 0) context.exitCode = exitCodeFor(signal.reason); // without a count it is the way to end
  }
  const answered = rtt.count;
  const totals = { sent, answered, lost: sent - answered, rttMs: latencyOf(rtt) };
  const { rttMs } = totals;
  const times = rttMs ? `; min ${rttMs.min}, mean ${rttMs.mean}, p99 ${rttMs.p99}, max ${rttMs.max} ms` : '';
  output.line(`${sent} sent, ${answered} answered, ${totals.lost} not${times}`, totals);
}

/** The exit code for it when it failed. */
async function pingOnce(
  context: CliContext,
  client: RpcClient,
  seq: number,
  rtt: ReturnType<typeof createHistogram>,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { output } = context;
  const startedMs = performance.now();
  try {
    await client.call({}, PING, {}, { signal });
  } catch (error) {
    if (!(error instanceof MessagingError)) throw error;
    const exitCode = exitCodeFor(error);
    const { text, report } = describeFailure(error, exitCode);
    output.line(`ping ${seq}: ${text}`, { seq, error: report });
    return exitCode;
  }
  const ms = performance.now() - startedMs;
  rtt.record(Math.max(1, Math.round(ms * 1e6)));
  const shown = Math.round(ms * 1000) / 1000;
  output.line(`ping ${seq}: answered in ${shown} ms`, { seq, ms: shown });
  return undefined;
}

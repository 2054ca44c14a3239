import type { RpcClient, RpcServer } from '@ebbgate/rpc';
import type { Command } from 'commander';
import { Benchmark, type BenchmarkPlan, type BenchmarkReport } from '../benchmark.js';
import type { CliContext } from '../cli-context.js';
import { type ConnectionOptions, findBroker, withConnectionOptions } from '../connection.js';
import { exitCodeFor } from '../exit-codes.js';
import { withHelpText } from '../help-text.js';
import { type Session, withSession } from '../local-server.js';
import { secondsOption, someSeconds, whole } from '../option-values.js';
import { showProgress } from '../progress.js';
import { makeClient } from '../sending.js';

interface BenchOptions extends ConnectionOptions {
  readonly topic: string;
  readonly server?: string;
  readonly cast?: boolean;
  readonly concurrency: number;
  readonly size: number;
  readonly count?: number;
  /** Milliseconds. */
  readonly duration?: number;
  readonly warmup: number;
  /** Milliseconds. */
  readonly timeout: number;
  readonly serveSelf?: boolean;
}

/** How long it takes when neither a count nor a duration is given. */
const DEFAULT_MS = 5_000;
/** Casts that the server in this process has not handled yet, at most. */
const MOST_UNHANDLED = 1_000;

const HELP = `
Needs a server with echo and sink: "ebbgate serve --echo" elsewhere, or --serve-self. With memory: it brings its own.
A call counts when its answer is there, a cast when the broker has it.

Examples:
  ebbgate bench
  ebbgate bench --concurrency 1 --count 10000 --size 1000 --json
  ebbgate bench --url rabbit://localhost/ --topic demo --duration 30 --cast

Times are in seconds, sizes in bytes; latencies come out in milliseconds. Exit codes: 0 nothing failed; else that of
the last failure: 10 no answer in time · 11 nobody listens there · 14 no connection. "ebbgate --help" has all.`;

/** `ebbgate bench` */
export function addBench(program: Command, context: CliContext): void {
  const command = program.command('bench').summary('measure calls or casts against an echo server');
  command.description(
    'Calls echo (or casts sink) at a fixed concurrency and prints requests per second and latencies.',
  );
  command
    .option('--topic <name>', 'the topic of the echo server', 'ebbgate-bench')
    .option('--server <name>', 'exactly that server (default: any)')
    .option('--cast', 'casts in place of calls')
    .option('--concurrency <number>', 'requests at the same time', whole(1, 100_000), 32)
    .option('--size <bytes>', 'length of the message', whole(0, 64 * 1024 ** 2), 100)
    .option('--count <number>', 'end after so many requests', whole(1))
    .option('--duration <seconds>', 'end after so long (default: 5, unless there is a count)', someSeconds)
    .option('--warmup <number>', 'requests before the measuring begins', whole(0), 1_000)
    .addOption(secondsOption('--timeout <seconds>', 'how long to wait for each answer', 10_000, someSeconds))
    .option('--serve-self', 'run the echo server in this process');
  withConnectionOptions(command);
  withHelpText(command, HELP);
  command.action(async (options: BenchOptions) => {
    const { url, inProcess } = await place(context, options);
    const serveEcho = inProcess || options.serveSelf === true;
    const settings = { slots: Math.max(64, options.concurrency) };
    const report = await withSession(context, { ...options, serveEcho }, settings, (session) =>
      bench(context, options, session),
    );
    const { cast = false, concurrency, size } = options;
    const all = { url, kind: cast ? 'cast' : 'call', concurrency, sizeBytes: size, ...report };
    context.output.line(humanReport(all), all);
  });
}

/** Where the broker is, and whether it lives within this process. */
async function place(
  context: CliContext,
  options: BenchOptions,
): Promise<{ url: string; inProcess: boolean }> {
  const transport = (await findBroker(context, options)).open();
  const { crossProcess } = transport.features;
  await transport.close();
  return { url: transport.url, inProcess: !crossProcess };
}

async function bench(context: CliContext, options: BenchOptions, session: Session): Promise<BenchmarkReport> {
  const client = makeClient(session.transport, options, options.timeout);
  const signal = AbortSignal.any([context.interrupted, context.output.stdoutGone]);
  const plan: BenchmarkPlan = {
    send: sender(client, options),
    concurrency: options.concurrency,
    count: options.count ?? Infinity,
    durationMs: options.duration ?? (options.count === undefined ? DEFAULT_MS : Infinity),
    signal,
  };
  await warmUp(context, plan, options.warmup);
  signal.throwIfAborted();
  const benchmark = new Benchmark({
    ...plan,
    ...(options.cast === true && session.local && { hasRoom: roomIn(session.local.rpc) }),
  });
  const endProgress = showProgress(context.output, () => progressOf(benchmark));
  try {
    const report = await benchmark.run();
    if (benchmark.lastError) context.exitCode = exitCodeFor(benchmark.lastError);
    if (signal.aborted) context.exitCode = exitCodeFor(signal.reason);
    return report;
  } finally {
    endProgress();
  }
}

/** The first failure ends it: there is nothing to measure then. */
async function warmUp(context: CliContext, plan: BenchmarkPlan, count: number): Promise<void> {
  if (count === 0) return;
  const once = new Benchmark({ ...plan, concurrency: 1, count: 1 });
  await once.run();
  if (once.lastError) throw once.lastError;
  await new Benchmark({ ...plan, count, durationMs: DEFAULT_MS }).run();
}

function sender(client: RpcClient, options: BenchOptions): () => Promise<unknown> {
  const args = { message: 'x'.repeat(options.size) };
  return options.cast === true ? () => client.cast({}, 'sink', args) : () => client.call({}, 'echo', args);
}

/** Casts are taken faster than they are handled; what waits in between must not grow without end. */
function roomIn(rpc: RpcServer): (sent: number) => boolean {
  const handledBefore = handledBy(rpc);
  return (sent) => sent - (handledBy(rpc) - handledBefore) < MOST_UNHANDLED;
}

/** Whatever became of them. */
function handledBy({ counts: { run, expired, duplicate, malformed } }: RpcServer): number {
  return run + expired + duplicate + malformed;
}

function progressOf(benchmark: Benchmark): { text: string; event: object } {
  const { done, failed, seconds, perSecond } = benchmark.report();
  return {
    text: `${seconds.toFixed(1)} s: ${done} done, ${perSecond}/s, ${failed} failed`,
    event: { seconds, done, perSecond, failed },
  };
}

type FullReport = BenchmarkReport & { url: string; kind: string; concurrency: number; sizeBytes: number };

function humanReport(report: FullReport): string {
  const { url, kind, concurrency, sizeBytes, done, failed, errors, seconds, perSecond, latencyMs } = report;
  const codes = Object.entries(errors).map(([code, count]) => `${code} ${count}`);
  const lines = [
    `${kind}s to ${url}, ${concurrency} at a time, ${sizeBytes} bytes`,
    `  ${perSecond}/s  (${done} in ${seconds} s)`,
  ];
  if (latencyMs) {
    const { mean, p50, p90, p99, max } = latencyMs;
    lines.push(`  latency in ms: mean ${mean}, p50 ${p50}, p90 ${p90}, p99 ${p99}, max ${max}`);
  }
  lines.push(`  failed: ${failed}${codes.length > 0 ? ` (${codes.join(', ')})` : ''}`);
  return lines.join('\n');
}

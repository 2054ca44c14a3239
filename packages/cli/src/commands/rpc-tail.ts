import { ConfigurationError, type Tail, type TailHooks, type TailSource, within } from '@ebbgate/core';
import type { Command } from 'commander';
import type { CliContext } from '../cli-context.js';
import { type Broker, type ConnectionOptions, findBroker, withConnectionOptions } from '../connection.js';
import { deferred } from '../deferred.js';
import { withHelpText } from '../help-text.js';
import { lineText } from '../json-text.js';
import { collect, whole } from '../option-values.js';
import { nobodyElseAt } from '../outside-broker.js';
import { TailReport } from '../tail-report.js';

interface RpcTailOptions extends ConnectionOptions {
  readonly topic: string;
  readonly server?: string;
  readonly trace?: boolean;
  readonly method?: readonly string[];
  readonly requestId?: string;
  readonly count?: number;
}

/** The naming scope of a topic that names none, as a transport has it. */
const EXCHANGE = 'openstack';

const HELP = `
Prints each request on a line: time, kind (call, cast, fanout), where it goes, method, arguments; with --json as an object,
with its context. It takes nothing from anybody: it reads copies from a queue of its own, which goes with it. Members that
look like secrets are masked.

Only RabbitMQ over AMQP 0-9-1 (rabbit:, rabbits:) lets others look on. With memory:, redis: and amqp10: it is refused
(ERR_CONFIGURATION; memory: ERR_USAGE): there nobody but its receiver sees a request.

Replies go through the default exchange of RabbitMQ, beside which nobody can listen. With --trace they are seen, too, by what the broker
traces. An operator turns that on, and off when it is done with, as it costs the broker a copy of every message:
  rabbitmqctl trace_on -p VHOST
  rabbitmqctl trace_off -p VHOST
Without it --trace is refused (ERR_CONFIGURATION).

Examples:
  ebbgate rpc-tail --url rabbit://localhost/ --topic compute
  ebbgate rpc-tail --topic compute --server host1 --method live_migration --trace --json

Ends with SIGINT or SIGTERM, after --count, or with its connection. Exit codes: 0 after --count · 2 usage, or it cannot be
seen · 11 nobody has ever listened there · 14 no connection · 15 credentials refused · 130, 143 signals.`;

/** `ebbgate rpc-tail` */
export function addRpcTail(program: Command, context: CliContext): void {
  const command = program.command('rpc-tail').summary('print the requests of a topic as they pass');
  command.description('Prints the requests of a topic as they pass on a live bus; nobody loses any.');
  command
    .requiredOption('--topic <name>', 'the topic of the servers')
    .option('--server <name>', 'only what goes to exactly that server')
    .option('--method <name>', 'only requests of that method; may be repeated', collect)
    .option('--request-id <id>', 'only requests whose context has that request_id')
    .option('--trace', 'replies, too, by what the broker traces')
    .option('--count <number>', 'end after so many lines', whole(1));
  withHelpText(withConnectionOptions(command), HELP);
  command.action(async (options: RpcTailOptions) => {
    await tail(context, options, await findBroker(context, options));
  });
}

async function tail(
  { output, interrupted }: CliContext,
  options: RpcTailOptions,
  broker: Broker,
): Promise<void> {
  const { topic, server, method: methods, requestId, count, exchange = EXCHANGE, trace = false } = options;
  const { url } = broker;
  const report = new TailReport(output, { methods, requestId });
  const done = deferred();
  const ended = new AbortController();
  let printed = 0;
  const tailing = await openTail(
    broker,
    { exchange, topic, server, traced: trace },
    {
      onMessage: (tailed) => {
        if (printed === count || !report.tell(tailed)) return; // fetched with the last one
        printed += 1;
        if (printed === count) done.resolve();
      },
      onEnd: (cause) => {
        ended.abort(cause);
      },
    },
  );
  const { unseen } = tailing;
  const what = lineText(
    `tailing ${String(url)}: topic ${topic}${server === undefined ? '' : `, server ${server}`}`,
  );
  const without = unseen.map((each) => `; not ${each}`).join('');
  output.note(what + without, { event: 'tailing', url: String(url), topic, server, unseen });
  try {
    await within(done.promise, { signal: AbortSignal.any([interrupted, ended.signal]) });
  } finally {
    await tailing.close();
  }
}

/** @throws ConfigurationError when the driver lets nobody look on; UsageError for a broker within this process */
async function openTail({ driver, url }: Broker, source: TailSource, hooks: TailHooks): Promise<Tail> {
  if (!driver) throw nobodyElseAt(url);
  if (driver.tail) return driver.tail(url, source, hooks);
  throw new ConfigurationError(
    `The RPC at ${url.scheme}: cannot be tailed: by the driver "${driver.name}" nobody but its receiver sees a request. On RabbitMQ ` +
      'over AMQP 0-9-1 (rabbit:) it can',
  );
}

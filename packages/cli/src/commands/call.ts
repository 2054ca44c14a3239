import type { Command } from 'commander';
import type { CliContext } from '../cli-context.js';
import { withConnectionOptions } from '../connection.js';
import { withHelpText } from '../help-text.js';
import { withLocalServerOptions, withSession } from '../local-server.js';
import { someSeconds } from '../option-values.js';
import { makeClient, readRequest, type SendingOptions, withSendingOptions } from '../sending.js';

interface CallOptions extends SendingOptions {
  /** Milliseconds. */
  readonly monitor?: number;
}

const HELP = `
Prints the result as JSON: indented, or with --json on one line. Integers of any size are printed in full.

Examples:
  ebbgate call --topic demo --serve-echo echo '{"message": "hello"}'
  ebbgate call --url rabbit://localhost/ --topic compute --server host1 get_info
  ebbgate call --topic compute --rpc-version 6.4 --timeout 5 --monitor 2 build '{"instance": "i-1"}'
  ebbgate call --topic demo --context '{"request_id": "req-1"}' echo - < arguments.json

Times are in seconds. Exit codes: 0 answered · 2 usage · 10 no answer in time · 11 nobody listens there ·
12 the method threw · 13 refused · 14 no connection · 15 credentials refused. "ebbgate --help" has all.`;

/** `ebbgate call` */
export function addCall(program: Command, context: CliContext): void {
  const command = program.command('call').summary('call a method and print its result');
  command.description(
    'Calls a method of one of the servers of a topic, or of exactly one server, and prints its result.',
  );
  command
    .requiredOption('--topic <name>', 'the topic of the servers; needed')
    .option('--server <name>', 'exactly that server (default: any)');
  withSendingOptions(command);
  command.option(
    '--monitor <seconds>',
    'give up after so long without a sign of life from the server',
    someSeconds,
  );
  withLocalServerOptions(withConnectionOptions(command));
  withHelpText(command, HELP);
  command.action(async (method: string, args: string | undefined, options: CallOptions) => {
    const request = await readRequest(context, method, args, options);
    const result = await withSession(context, options, {}, async ({ transport }) => {
      const client = makeClient(transport, options, options.timeout).prepare({
        callMonitorTimeoutMs: options.monitor ?? null,
      });
      return client.call(request.values, request.method, request.args, { signal: context.interrupted });
    });
    context.output.result(result);
  });
}

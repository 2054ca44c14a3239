import type { Command } from 'commander';
import type { CliContext } from '../cli-context.js';
import { withConnectionOptions } from '../connection.js';
import { withHelpText } from '../help-text.js';
import { whenHandled, withLocalServerOptions, withSession } from '../local-server.js';
import { makeClient, readRequest, type SendingOptions, withSendingOptions } from '../sending.js';

interface CastOptions extends SendingOptions {
  readonly fanout?: boolean;
}

const HELP = `
Ends when the broker has the message; whether a server has handled it is not told. A message that no server can ever
receive is an error (11), unless it is a fanout. Prints nothing; with --json one object.

Examples:
  ebbgate cast --topic demo --serve-echo sink '{"message": "hello"}'
  ebbgate cast --url rabbit://localhost/ --topic compute --server host1 reset '{"hard": true}'
  ebbgate cast --url rabbit://localhost/ --topic compute --fanout reload

With --serve-echo or --endpoints it waits until the server in this process has handled the message.
Times are in seconds. Exit codes: 0 sent · 2 usage · 10 not in time · 11 nobody listens there · 14 no connection ·
15 credentials refused. "ebbgate --help" has all.`;

/** `ebbgate cast` */
export function addCast(program: Command, context: CliContext): void {
  const command = program.command('cast').summary('send a request that nobody answers');
  command.description(
    'Sends a request that nobody answers: to one of the servers of a topic, to exactly one, or to all.',
  );
  command
    .requiredOption('--topic <name>', 'the topic of the servers; needed')
    .option('--server <name>', 'exactly that server (default: any)')
    .option('--fanout', 'all servers of the topic that listen now');
  withLocalServerOptions(withConnectionOptions(withSendingOptions(command)));
  withHelpText(command, HELP);
  command.action(async (method: string, args: string | undefined, options: CastOptions) => {
    const request = await readRequest(context, method, args, options);
    await withSession(context, options, { logFrom: 'error' }, async ({ transport, local }) => {
      const client = makeClient(transport, options, options.timeout).prepare({
        fanout: options.fanout ?? null,
      });
      await client.cast(request.values, request.method, request.args, { signal: context.interrupted });
      // On a broker outside another server may have taken it.
      if (local && !transport.features.crossProcess)
        await whenHandled(local, options.timeout, context.interrupted);
    });
    if (context.output.json) context.output.result({ sent: true });
  });
}

import { within } from '@ebbgate/core';
import { Notifier, PRIORITIES, type Priority } from '@ebbgate/notify';
import { type Command, Option } from 'commander';
import type { CliContext } from '../cli-context.js';
import { type ConnectionOptions, withConnectionOptions } from '../connection.js';
import { withHelpText } from '../help-text.js';
import { parseJsonObject, parseJsonValue } from '../json-argument.js';
import { withOutsideBroker } from '../outside-broker.js';
import { collect, secondsOption, someSeconds } from '../option-values.js';
import { readText } from '../read-text.js';

interface NotifyOptions extends ConnectionOptions {
  readonly topic?: readonly string[];
  readonly priority: Priority;
  readonly publisherId: string;
  readonly context?: string;
  readonly format: 'messagingv2' | 'messaging';
  /** Milliseconds. */
  readonly timeout: number;
}

const HELP = `
Ends when the broker has stored the notification in the queue of each topic, whether anybody listens or not. Prints
nothing; with --json one object. Of the context only members are sent that whoever listens may see: never a token.

Examples:
  ebbgate notify --url rabbit://localhost/ instance.create.end '{"id": "i-1"}'
  ebbgate notify --priority error --topic notifications --topic audit disk.full '{"free": 0}'
  ebbgate notify --publisher-id compute.host1 instance.update - < payload.json

Times are in seconds. Exit codes: 0 stored · 2 usage · 14 no connection · 15 credentials refused. "ebbgate --help" has
all.`;

/** `ebbgate notify` */
export function addNotify(program: Command, context: CliContext): void {
  const command = program.command('notify').summary('send a notification');
  command.description('Sends a notification, which is kept until somebody listens.');
  command
    .argument('<event-type>', 'what has happened, like instance.create.end')
    .argument('[payload]', "what it says, as JSON; - reads it from stdin (default: 'null')")
    .option('--topic <name>', 'the topic; may be repeated (default: notifications)', collect)
    .addOption(new Option('--priority <name>', 'how urgent it is').choices(PRIORITIES).default('info'))
    .option('--publisher-id <id>', 'who sends it', 'ebbgate')
    .option('--context <json>', 'members of the request context, a JSON object')
    .addOption(
      new Option('--format <name>', 'messagingv2: in an envelope; messaging: without')
        .choices(['messagingv2', 'messaging'])
        .default('messagingv2'),
    )
    .addOption(secondsOption('--timeout <seconds>', 'how long to wait at most', 60_000, someSeconds));
  withHelpText(withConnectionOptions(command), HELP);
  command.action(async (eventType: string, given: string | undefined, options: NotifyOptions) => {
    const values = options.context === undefined ? {} : parseJsonObject('--context', options.context);
    const text = given === '-' ? await readText(context.stdin, context.interrupted) : given;
    const payload = text === undefined ? null : parseJsonValue('The payload', text);
    const { topic, exchange, publisherId, format, timeout, priority } = options;
    await withOutsideBroker(context, options, async (transport) => {
      const notifier = new Notifier(transport, {
        ...(topic && { topics: topic }),
        ...(exchange !== undefined && { exchange }),
        ...{ publisherId, drivers: [format], timeoutMs: timeout },
      });
      const sent = notifier.notify(priority, values, eventType, payload);
      await within(sent, { signal: context.interrupted });
    });
    if (context.output.json) context.output.result({ sent: true });
  });
}

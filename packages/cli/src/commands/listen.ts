import { type RequestContext, secretId, type Transport, within } from '@ebbgate/core';
import {
  type FilterRules,
  type NotificationEndpoint,
  NotificationFilter,
  NotificationListener,
  PRIORITIES,
  type Priority,
  type ReceivedNotification,
} from '@ebbgate/notify';
import { type Command, InvalidArgumentError } from 'commander';
import type { CliContext } from '../cli-context.js';
import { type ConnectionOptions, withConnectionOptions } from '../connection.js';
import { deferred } from '../deferred.js';
import { withHelpText } from '../help-text.js';
import { jsonText, lineText } from '../json-text.js';
import { collect, whole } from '../option-values.js';
import type { Output } from '../output.js';
import { withOutsideBroker } from '../outside-broker.js';
import { UsageError } from '../usage-error.js';

interface ListenOptions extends ConnectionOptions {
  readonly topic?: readonly string[];
  readonly priority?: readonly Priority[];
  readonly eventType?: string;
  readonly publisherId?: string;
  readonly payload?: readonly string[];
  readonly pool?: string;
  readonly count?: number;
}

const HELP = `
Prints each notification on a line: time, priority, publisher, event type, payload; with --json as an object.

It listens in a pool of its own, which goes with it: it gets a copy of what is sent from now on, and nobody loses
anything. With --pool NAME it shares the queue of that pool: what it prints the other listeners of the pool do not get.

The expressions are those of RE2, and match at the start of the text: --event-type 'instance\\.' for all of instances.

Examples:
  ebbgate listen --url rabbit://localhost/
  ebbgate listen --priority error --priority critical --json
  ebbgate listen --event-type 'instance\\..*\\.end' --payload 'state=active' --count 1

Ends with SIGINT or SIGTERM, or after --count. Exit codes: 0 after --count · 2 usage · 14 no connection · 15 credentials
refused · 130, 143 signals. "ebbgate --help" has all.`;

/** `ebbgate listen` */
export function addListen(program: Command, context: CliContext): void {
  const command = program.command('listen').summary('print notifications as they come');
  command.description('Prints the notifications of a topic as they come; nobody else loses any.');
  command
    .option('--topic <name>', 'the topic; may be repeated (default: notifications)', collect)
    .option('--priority <name>', 'only those; may be repeated (default: all)', collectPriority)
    .option('--event-type <expression>', 'only those whose event type matches')
    .option('--publisher-id <expression>', 'only those whose publisher matches')
    .option(
      '--payload <name=expression>',
      'only those whose payload has such a member; may be repeated',
      collect,
    )
    .option('--pool <name>', 'share the queue of that pool instead')
    .option('--count <number>', 'end after so many', whole(1));
  withHelpText(withConnectionOptions(command), HELP);
  command.action(async (options: ListenOptions) => {
    const filter = new NotificationFilter(rulesOf(options));
    await withOutsideBroker(context, options, (transport) => listen(context, options, transport, filter));
  });
}

async function listen(
  { output, interrupted }: CliContext,
  options: ListenOptions,
  transport: Transport,
  filter: NotificationFilter,
): Promise<void> {
  const { topic: topics = ['notifications'], priority: priorities = PRIORITIES, exchange, count } = options;
  const done = deferred();
  let printed = 0;
  const print = (context: RequestContext, notification: ReceivedNotification): void => {
    if (printed === count) return; // fetched with the last one
    printed += 1;
    tell(output, context, notification);
    if (printed === count) done.resolve();
  };
  const methods = Object.fromEntries(priorities.map((priority) => [priority, print]));
  const endpoint: NotificationEndpoint = { filter, ...methods };
  const targets = topics.map((topic) => ({ topic, exchange }));
  const pool = options.pool ?? `ebbgate-listen-${secretId()}`;
  const listener = new NotificationListener(transport, targets, [endpoint], {
    ...{ pool, ephemeral: options.pool === undefined, slots: 1 },
  });
  await listener.start();
  const where = `topic ${topics.join(', ')}${options.pool === undefined ? '' : `, pool ${options.pool}`}`;
  const event = { event: 'listening', url: transport.url, topics, priorities, pool };
  output.note(lineText(`listening at ${transport.url}: ${where}`), event);
  try {
    await ended(done.promise, interrupted);
  } finally {
    await listener.stop();
    await listener.wait();
  }
}

/** Resolves when all is printed; rejects with why it is to end before. */
function ended(done: Promise<void>, interrupted: AbortSignal): Promise<void> {
  return within(done, { signal: interrupted });
}

function tell(output: Output, context: RequestContext, notification: ReceivedNotification): void {
  const { timestamp, priority, publisherId, eventType, payload, messageId } = notification;
  const head = [timestamp ?? '-', priority, publisherId ?? '-', eventType].map((part) => lineText(part));
  const members = { timestamp, priority, publisherId, eventType, payload, messageId };
  output.line(`${head.join(' ')} ${jsonText(payload)}`, { ...members, context: { ...context.values } });
}

function rulesOf({ eventType, publisherId, payload = [] }: ListenOptions): FilterRules {
  const members = payload.map((text): [string, string] => {
    const equals = text.indexOf('=');
    if (equals > 0) return [text.slice(0, equals), text.slice(equals + 1)];
    throw new UsageError('--payload must be name=expression, like state=active');
  });
  return {
    ...(eventType !== undefined && { eventType }),
    ...(publisherId !== undefined && { publisherId }),
    payload: Object.fromEntries(members),
  };
}

function collectPriority(text: string, before: readonly Priority[] = []): Priority[] {
  const priority = PRIORITIES.find((name) => name === text);
  if (priority) return [...before, priority];
  throw new InvalidArgumentError(`It must be one of ${PRIORITIES.join(', ')}.`);
}

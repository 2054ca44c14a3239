import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { asyncApiOf, eventsOf, methodsOf } from '@ebbgate/notify';
import type { Command } from 'commander';
import type { CliContext } from '../cli-context.js';
import { type Declarations, loadDeclarations } from '../contract-file.js';
import { withHelpText } from '../help-text.js';
import { UsageError } from '../usage-error.js';

interface AsyncApiCommandOptions {
  readonly contract: string;
  readonly topic?: string;
  readonly notificationTopic: string;
  readonly title?: string;
  readonly apiVersion?: string;
  readonly out?: string;
}

const HELP = `
FILE is a module that Node can import. Every contract that it exports (defineContract of @ebbgate/rpc) is described as what
servers on a topic answer to, every event catalogue (defineEvents of @ebbgate/notify) as what the service sends. Schemas come
from their library where it gives JSON Schema (zod does); elsewhere any value fits, and a comment says so.

Examples:
  ebbgate asyncapi --contract ./disks.mjs
  ebbgate asyncapi --contract ./disks.mjs --topic disks --out asyncapi.json

Exit codes: 0 done · 2 usage, or a file that cannot be read or written.`;

/** `ebbgate asyncapi` */
export function addAsyncApi(program: Command, context: CliContext): void {
  const command = program.command('asyncapi').summary('describe a service as an AsyncAPI 3 document');
  command
    .description(
      'Prints the AsyncAPI 3 document of a service: its methods and its events, from their declarations.',
    )
    .requiredOption('--contract <file>', 'a module that exports contracts and events; needed')
    .option('--topic <name>', 'where the servers listen (default: the name of the export)')
    .option('--notification-topic <name>', 'where the events go', 'notifications')
    .option('--title <text>', 'what the service is called (default: the name of the file)')
    .option('--api-version <version>', 'version of the whole (default: that of the first contract)')
    .option('--out <file>', 'write it there and print nothing')
    .option('--json', 'print it on one line');
  withHelpText(command, HELP);
  command.action(async (options: AsyncApiCommandOptions) => {
    const declarations = await loadDeclarations(options.contract, context.cwd);
    const document = documentOf(declarations, options);
    if (options.out === undefined) context.output.result(document);
    else await write(resolve(context.cwd, options.out), `${JSON.stringify(document, null, 2)}\n`);
  });
}

function documentOf(
  { name, contracts, catalogues }: Declarations,
  { topic, notificationTopic, title = name, apiVersion }: AsyncApiCommandOptions,
): object {
  const [first] = contracts.values();
  return asyncApiOf({
    title,
    version: apiVersion ?? first?.version ?? '1.0',
    methods: [...contracts].flatMap(([own, contract]) => methodsOf(contract, topic ?? own)),
    events: [...catalogues.values()].flatMap((catalogue) => eventsOf(catalogue, notificationTopic)),
  });
}

async function write(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text);
  } catch (cause) {
    throw new UsageError('The document cannot be written', { cause });
  }
}

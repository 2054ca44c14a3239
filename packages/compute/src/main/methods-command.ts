import { Command } from 'commander';
import { z } from 'zod';
import { ConfigurationError } from '@ebbgate/core';
import { methodsPage } from '../rpc/methods-page.js';
import { methodsText } from '../rpc/methods-text.js';
import { topicTable } from '../rpc/topic-table.js';
import { givenFlags } from './daemon-flags.js';
import { rpcOptions, withConfigFile } from './rpc-options.js';

/** What daemons are told besides is in the same file, and left to them. */
const schema = z.object({
  config: z.string().optional(),
  computeVersionCap: z.string().optional(),
  opsTopic: z.string().optional(),
  topic: z.string().default(''),
  json: z.boolean().default(false),
  markdown: z.boolean().default(false),
});

/** `methods`: the table as the options, the environment and the configuration file of the daemons make it. */
export function methodsCommand(beforeOutput: () => void): Command {
  const command = new Command('methods')
    .description('Prints the table of compute methods: version, call or cast, topic, arguments.')
    .option('--json', 'as one JSON object')
    .option('--markdown', 'the tables of conductor and scheduler too, as a page of the documentation')
    .option('--config <file>', 'the configuration file of the daemons')
    .option('--ops-topic <name>', 'as for daemons')
    .option('--topic <method=main|ops>', 'as for daemons', (one, before?: string) =>
      before === undefined ? one : `${before},${one}`,
    );
  return command.action(() => {
    beforeOutput();
    const { flags } = givenFlags(command, process.env);
    const result = schema.safeParse(withConfigFile(flags));
    if (!result.success)
      throw new ConfigurationError(result.error.issues.map(({ message }) => message).join('; '));
    const { json, markdown } = result.data;
    const topics = topicTable(rpcOptions(result.data, flags));
    process.stdout.write(markdown ? methodsPage(topics) : methodsText(json, topics));
  });
}

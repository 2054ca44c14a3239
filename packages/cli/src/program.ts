import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import type { CliContext } from './cli-context.js';
import { addAsyncApi } from './commands/asyncapi.js';
import { addBench } from './commands/bench.js';
import { addCall } from './commands/call.js';
import { addCast } from './commands/cast.js';
import { addListen } from './commands/listen.js';
import { addNotify } from './commands/notify.js';
import { addPing } from './commands/ping.js';
import { addRpcTail } from './commands/rpc-tail.js';
import { addServe } from './commands/serve.js';
import { exitCodesHelp } from './exit-codes.js';
import { withHelpText } from './help-text.js';

const HELP = `
Try it, without any broker:
  ebbgate call --topic demo --serve-echo echo '{"message": "hello"}'
  ebbgate bench --duration 2

With a broker, in two terminals:
  ebbgate serve --url rabbit://localhost/ --topic demo --server s1 --echo
  ebbgate call --url rabbit://localhost/ --topic demo echo '{"message": "hello"}'

The URL is scheme://user:password@host:port/virtual-host. Put one with a password into EBBGATE_URL, where other users
of the machine cannot read it; it is never printed. memory: is a broker within this process alone. For other schemes
install their driver: npm install @ebbgate/driver-amqp (rabbit:, amqp:, amqp10:, …) or @ebbgate/driver-redis (redis:,
rediss:); any other with --driver PACKAGE.

Results go to stdout, everything else to stderr. With --json each line is one JSON object.

${exitCodesHelp}`;

/** So that the longest options of `serve` still leave room for their descriptions in 80 columns. */
const LEAST_DESCRIPTION_COLUMNS = 30;

/** The command line: commands, options and help. Parsing errors are thrown, not printed. */
export function createProgram(context: CliContext): Command {
  const program = new Command('ebbgate')
    .description(
      'Calls, casts and serves methods over Ebbgate transports, prints requests as they pass, sends notifications and prints them.',
    )
    .version(ownVersion())
    .helpCommand('help [command]', 'show the help of a command')
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => {
        context.output.text(text, 'stdout');
      },
      writeErr: (text) => {
        context.output.text(text, 'stderr');
      },
      outputError: () => undefined, // told by whoever catches it, as JSON where that is asked for
    })
    .configureHelp({ minWidthToWrap: LEAST_DESCRIPTION_COLUMNS });
  withHelpText(program, HELP);
  const commands = [
    addServe,
    addCall,
    addCast,
    addPing,
    addRpcTail,
    addNotify,
    addListen,
    addBench,
    addAsyncApi,
  ];
  for (const add of commands) add(program, context);
  return program;
}

function ownVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(text) as { version: string }; // our own package.json
  return version;
}

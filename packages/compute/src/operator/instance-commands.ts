import { Command } from 'commander';
import { MOVE_ACTIONS } from './move-actions.js';
import { PLACE_ACTIONS } from './place-actions.js';
import type { Action } from './actions.js';
import { bootWork } from './boot.js';
import { FLAVOR_WORDS } from './flavors.js';
import { GUEST_ACTIONS } from './guest-actions.js';
import { consoleWork, listWork, showWork, validateWork, watchWork } from './looks.js';
import { readActionOptions, readLines, WAIT_FLAGS } from './operator-options.js';
import { actionWork } from './run-action.js';
import type { Perform } from './work.js';

type Options = Readonly<Record<string, unknown>>;

/** `instance …`: what an operator does with instances. Names are those of the openstack client, as far as it has them. */
export function instanceCommand(perform: Perform): Command {
  const root = new Command('instance').description('What is where, and what is done to it.').exitOverride();
  addBoot(root, perform);
  addLooks(root, perform);
  for (const action of [...MOVE_ACTIONS, ...PLACE_ACTIONS, ...GUEST_ACTIONS])
    addAction(root, action, perform);
  return root;
}

function addBoot(root: Command, perform: Perform): void {
  const command = root
    .command('boot <name>')
    .alias('create')
    .description('Makes a new instance.')
    .option('--flavor <size>', FLAVOR_WORDS, 'm1.tiny')
    .option('--image <id>', 'of which image', 'cirros')
    .option('--host <name>', 'only there, if it has room (default: the scheduler chooses)')
    .option('--availability-zone <name>', 'only on hosts of that zone')
    .option(
      '--hint <name=value>',
      'for the scheduler: same_host=ID, different_host=ID; can be given again',
      collect,
      [],
    );
  withWait(command).action((name: string, given: Options) =>
    perform(command, bootWork(name, given, readActionOptions(given))),
  );
}

function addLooks(root: Command, perform: Perform): void {
  const list = root
    .command('list')
    .description('All instances: where each is, what is done to it, and how far that is.')
    .option('--host <name>', 'only those that are there')
    .option('--watch', 'go on until Ctrl-C')
    .option('--json', 'a JSON list; with --watch an object for each change');
  list.action((given: Options) =>
    perform(list, given['watch'] === true ? watchWork(given) : listWork(given)),
  );
  const watch = root
    .command('watch')
    .description('Hosts, instances and migrations, until Ctrl-C: a table on a terminal, lines elsewhere.')
    .option('--json', 'an object for each change');
  watch.action((given: Options) => perform(watch, watchWork(given)));
  const show = root
    .command('show <instance>')
    .description('All about one.')
    .option('--json', 'as a JSON object');
  show.action((name: string, given: Options) => perform(show, showWork(name, given)));
  const output = root
    .command('console <instance>')
    .description('What its guest has written to its console.')
    .option('--lines <n>', 'only the last ones');
  output.action((name: string, given: Options) => perform(output, consoleWork(name, readLines(given))));
  const validate = root
    .command('console-validate <instance>')
    .description('Is that the port of its console? What a proxy asks; exit code 1 when it is not.')
    .requiredOption('--port <port>', 'the port')
    .option('--type <type>', 'novnc, spice-html5 or serial', 'novnc');
  validate.action((name: string, given: Options) => perform(validate, validateWork(name, given)));
}

function addAction(root: Command, action: Action, perform: Perform): void {
  const command = root.command(`${action.name} <instance>`).description(action.summary);
  for (const [flags, text] of action.options ?? []) command.option(flags, text);
  withWait(command).action((name: string, given: Options) =>
    perform(command, actionWork(action, name, readActionOptions(given), given)),
  );
}

function withWait(command: Command): Command {
  for (const [flags, text] of WAIT_FLAGS) command.option(flags, text);
  return command;
}

function collect(one: string, before: readonly string[]): readonly string[] {
  return [...before, one];
}

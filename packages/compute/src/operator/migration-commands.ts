import { nameOf } from '../objects/instance.js';
import { Command } from 'commander';
import { textOf } from './actions.js';
import { moveText } from './instance-rows.js';
import { findInstance, isShown } from './named.js';
import { plainMigration } from './plain-objects.js';
import { textTable } from './text-table.js';
import type { Perform, Work } from './work.js';

type Given = Readonly<Record<string, unknown>>;

/** `migration …`: the moves of instances, past and present. */
export function migrationCommand(perform: Perform): Command {
  const root = new Command('migration').description('Moves of instances.').exitOverride();
  const list = root
    .command('list')
    .description('All moves, oldest first, and how each has ended or how far it is.')
    .option('--instance <instance>', 'only those of one')
    .option('--json', 'as a JSON list');
  list.action((given: Given) => perform(list, listWork(given)));
  return root;
}

function listWork(given: Given): Work {
  return async ({ api }, terminal) => {
    const { records } = api;
    const wanted = textOf(given, 'instance');
    const only = wanted === undefined ? {} : { instance_uuid: (await findInstance(api, wanted)).get('uuid') };
    const migrations = (await records.migrations.find(only)).filter(isShown);
    if (given['json'] === true) {
      terminal.out(`${JSON.stringify(migrations.map(plainMigration))}\n`);
      return;
    }
    const [here, gone] = await Promise.all([
      records.instances.find({}),
      records.instances.find({ deleted: true }),
    ]);
    const names = new Map([...gone, ...here].map((one) => [one.get('uuid'), nameOf(one)]));
    const rows = migrations.map((one) => {
      const uuid = one.get('instance_uuid');
      return [one.get('uuid'), names.get(uuid) ?? uuid, one.get('migration_type'), moveText(one)];
    });
    terminal.out(`${textTable([['ID', 'INSTANCE', 'TYPE', 'MOVE'], ...rows]).join('\n')}\n`);
  };
}

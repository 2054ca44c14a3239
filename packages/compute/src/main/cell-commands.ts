import { ConfigurationError, silentLogger, TransportUrl } from '@ebbgate/core';
import { Command } from 'commander';
import { z } from 'zod';
import { orUndefined } from '../db/or-undefined.js';
import { Cell } from '../db/cells.js';
import { isPrivate, parseDatabaseUrl } from '../db/database-url.js';
import type { LocalRecords } from '../db/local-records.js';
import { openRecords } from '../db/open-records.js';
import { failWith, OPERATOR_EXIT } from '../operator/perform-work.js';
import type { Terminal } from '../operator/terminal.js';
import { textTable } from '../operator/text-table.js';
import { OperatorError, OperatorUsageError } from '../operator/work.js';
import { isInProcess } from './broker.js';
import { apiDatabaseSchema, cellNameSchema } from './cell-flags.js';
import { givenFlags } from './daemon-flags.js';
import { localTerminal } from './local-terminal.js';
import { withConfigFile } from './rpc-options.js';

/** What the commands are told; what is in the file of daemons besides is left to them. */
const schema = z.object({
  apiDatabase: apiDatabaseSchema,
  transport: z.string().min(1).optional(),
  database: z.string().min(1).optional(),
  force: z.boolean().default(false),
  json: z.boolean().default(false),
});

type Given = z.infer<typeof schema>;
type Work = (records: LocalRecords, terminal: Terminal, given: Given, name: string) => Promise<void>;

/** `cell …`: which cells there are, in the API database, after `nova-manage cell_v2`. */
export function cellCommand(beforeOutput: () => void): Command {
  const root = new Command('cell')
    .description('The cells that there are. Each has a broker and a database of its own.')
    .exitOverride();
  const add = (command: Command, work: Work): void => {
    command
      .option('--api-database <url>', 'where the cells are told; needed')
      .option('--config <file>', 'the configuration file of the daemons of that cell')
      .addHelpText('after', HELP)
      .action(async (name: unknown) => {
        beforeOutput();
        process.exitCode = await perform(command, work, typeof name === 'string' ? name : '');
      });
  };
  add(withUrls(root.command('create <name>').description('Adds a cell.')), create);
  const list = root.command('list').description('All cells, without the passwords in their URLs.');
  add(list.option('--json', 'as a JSON list'), print);
  add(withUrls(root.command('update <name>').description('Changes how a cell is reached.')), update);
  const remove = root.command('delete <name>').description('Forgets a cell; what is in it stays as it is.');
  add(remove.option('--force', 'also when instances have moved to it or come from it'), forget);
  return root;
}

const HELP = `
URLs hold passwords: give them by the environment (EBBGATE_API_DATABASE, EBBGATE_URL, EBBGATE_DATABASE) or the file.`;

function withUrls(command: Command): Command {
  return command
    .option('--transport <url>', 'its broker')
    .option('--database <url>', 'its database, as every conductor of every cell can open it');
}

/** Rejects with CommanderError only. */
async function perform(command: Command, work: Work, name: string): Promise<number> {
  const terminal = localTerminal();
  try {
    const result = schema.safeParse(withConfigFile(givenFlags(command, process.env).flags));
    if (!result.success)
      throw new OperatorUsageError(result.error.issues.map(({ message }) => message).join('; '));
    const { apiDatabase } = result.data;
    if (apiDatabase === undefined || isPrivate(apiDatabase))
      throw new OperatorUsageError('Which cells? Give --api-database URL: one that other processes can open');
    const records = await openRecords(apiDatabase, { logger: silentLogger });
    try {
      await work(records, terminal, result.data, name);
    } finally {
      await records.close();
    }
    return OPERATOR_EXIT.done;
  } catch (error) {
    return failWith(error, terminal);
  }
}

async function create(
  { cells }: LocalRecords,
  terminal: Terminal,
  given: Given,
  name: string,
): Promise<void> {
  const checked = cellNameSchema('The name of a cell').safeParse(name);
  if (!checked.success)
    throw new OperatorUsageError(checked.error.issues.map(({ message }) => message).join('; '));
  const { transport, database } = given;
  if (transport === undefined || database === undefined)
    throw new OperatorUsageError('A cell has a broker and a database: give --transport and --database');
  if (await orUndefined(cells.get(name))) throw new OperatorError(`There is a cell ${name} already`);
  await cells.save(checkedCell(name, transport, database));
  terminal.out(`${name} is a cell\n`);
}

async function update(
  { cells }: LocalRecords,
  terminal: Terminal,
  given: Given,
  name: string,
): Promise<void> {
  const before = await known(cells, name);
  const { transport = before.transportUrl, database = before.databaseUrl } = given;
  await cells.save(checkedCell(name, transport, database));
  terminal.out(`${name} is changed; its own daemons have to be told besides\n`);
}

async function forget(
  { cells, mappings }: LocalRecords,
  terminal: Terminal,
  { force }: Given,
  name: string,
): Promise<void> {
  await known(cells, name);
  const count = await mappings.countIn(name);
  if (count > 0 && !force)
    throw new OperatorError(
      `${count} instances are mapped to cell ${name}: give --force if that is no matter`,
    );
  await cells.remove(name);
  terminal.out(`${name} is no cell any more\n`);
}

async function print({ cells }: LocalRecords, terminal: Terminal, { json }: Given): Promise<void> {
  const shown = (await cells.list()).map(({ name, transportUrl, databaseUrl }) => ({
    name,
    transport: TransportUrl.parse(transportUrl).toString(),
    database: shownDatabase(databaseUrl),
  }));
  const rows = shown.map(({ name, transport, database }) => [name, transport, database]);
  const text = json
    ? JSON.stringify(shown)
    : textTable([['CELL', 'TRANSPORT', 'DATABASE'], ...rows]).join('\n');
  terminal.out(`${text}\n`);
}

/** Of a server only where it is: what else stands in its URL may be secret. */
function shownDatabase(url: string): string {
  const database = parseDatabaseUrl(url);
  return database.kind === 'postgresql' ? database.label : url;
}

async function known(cells: LocalRecords['cells'], name: string): Promise<Cell> {
  const cell = await orUndefined(cells.get(name));
  if (cell) return cell;
  const names = (await cells.list()).map((one) => one.name).join(', ');
  throw new OperatorError(
    `There is no cell ${name}; there ${names === '' ? 'are none at all' : `is ${names}`}`,
  );
}

/** @throws ConfigurationError (`ERR_CONFIGURATION`), InvalidTransportUrlError (`ERR_INVALID_TRANSPORT_URL`) */
function checkedCell(name: string, transportUrl: string, databaseUrl: string): Cell {
  if (isInProcess(transportUrl) || isPrivate(databaseUrl))
    throw new ConfigurationError(
      'The broker and the database of a cell must be such that other processes reach them',
    );
  return new Cell({ name, transportUrl, databaseUrl });
}

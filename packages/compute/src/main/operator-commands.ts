import { silentLogger } from '@ebbgate/core';
import { Command, CommanderError } from 'commander';
import type { RemoteApi } from '../api/remote-api.js';
import { drainCommand, hostCommand } from '../operator/host-commands.js';
import { instanceCommand } from '../operator/instance-commands.js';
import { migrationCommand } from '../operator/migration-commands.js';
import { failWith, OPERATOR_EXIT, performWork } from '../operator/perform-work.js';
import type { Terminal } from '../operator/terminal.js';
import type { Operated, Perform, Work } from '../operator/work.js';
import { brokerAt } from './broker.js';
import { cleanUpCommand } from './clean-up-command.js';
import { overControl } from './control-client.js';
import { localTerminal } from './local-terminal.js';
import { operatorContext, overCells, remoteApiOf } from './operator-cells.js';
import { type Reach, readReach, withReachFlags } from './operator-reach.js';

/** `instance`, `host`, `migration` and `drain`: done over the broker of a cloud, or those of all its cells, or by an all-in-one in memory. */
export function operatorCommands(beforeOutput: () => void): readonly Command[] {
  const commands = commandsFor(async (command, work) => {
    beforeOutput();
    const reach = readReach(command, process.env);
    const terminal = localTerminal();
    process.exitCode = await reached(reach, work, terminal);
  });
  commands.find((command) => command.name() === 'host')?.addCommand(cleanUpCommand(beforeOutput));
  return commands;
}

function reached(reach: Reach, work: Work, terminal: Terminal): Promise<number> {
  const { apiDatabase, transport, control } = reach;
  if (apiDatabase !== undefined) return overCells({ ...reach, apiDatabase }, work, terminal);
  if (transport !== undefined) return overBroker({ ...reach, transport }, work, terminal);
  return overControl(control, process.argv.slice(2), terminal);
}

/** Does a command that was given to the process of the cloud. Resolves with the exit code; never rejects. */
export async function doCommand(
  argv: readonly string[],
  cloud: Operated,
  terminal: Terminal,
): Promise<number> {
  let code: number = OPERATOR_EXIT.done;
  const root = new Command('ebbgate-compute').exitOverride();
  const perform: Perform = async (_command, work) => {
    code = await performWork(work, cloud, terminal);
  };
  for (const command of commandsFor(perform)) root.addCommand(command);
  try {
    await root.parseAsync(argv, { from: 'user' });
    return code;
  } catch (error) {
    // Whoever typed it has a program that knows other commands than this one.
    if (error instanceof CommanderError) terminal.err(`${error.message}\n`);
    return error instanceof CommanderError ? OPERATOR_EXIT.usage : failWith(error, terminal);
  }
}

/** A cloud of one cell, with which means. */
export function operated(api: RemoteApi, machines?: Operated['machines']): Operated {
  const one = (): Promise<RemoteApi> => Promise.resolve(api);
  return { api, apiOf: one, apiFor: one, context: operatorContext(), machines };
}

function commandsFor(perform: Perform): readonly Command[] {
  const groups = [instanceCommand(perform), hostCommand(perform), migrationCommand(perform)];
  const drain = drainCommand(perform);
  for (const command of [...groups.flatMap((group) => group.commands), drain]) withReachFlags(command);
  return [...groups, drain];
}

async function overBroker(
  reach: Reach & { readonly transport: string },
  work: Work,
  terminal: Terminal,
): Promise<number> {
  const open = await brokerAt(reach.transport, reach);
  const transport = open(silentLogger);
  const code = await performWork(work, operated(remoteApiOf(transport, reach)), terminal);
  await transport.close();
  return code;
}

import { silentLogger } from '@ebbgate/core';
import { Command, CommanderError } from 'commander';
import { RemoteApi } from '../api/remote-api.js';
import { hostCommand } from '../operator/host-commands.js';
import { instanceCommand } from '../operator/instance-commands.js';
import { migrationCommand } from '../operator/migration-commands.js';
import { failWith, OPERATOR_EXIT, performWork } from '../operator/perform-work.js';
import type { Terminal } from '../operator/terminal.js';
import { type Operated, OPERATOR, type Perform, type Work } from '../operator/work.js';
import { novaContext } from '../rpc/nova-context.js';
import { Liveness } from '../servicegroup/liveness.js';
import { brokerAt } from './broker.js';
import { overControl } from './control-client.js';
import { localTerminal } from './local-terminal.js';
import { type Reach, readReach, withReachFlags } from './operator-reach.js';

/** `instance`, `host` and `migration`: done over the broker of a cloud, or by an all-in-one in memory. */
export function operatorCommands(beforeOutput: () => void): readonly Command[] {
  return commandsFor(async (command, work) => {
    beforeOutput();
    const reach = readReach(command, process.env);
    const terminal = localTerminal();
    process.exitCode =
      reach.transport === undefined
        ? await overControl(reach.control, process.argv.slice(2), terminal)
        : await overBroker({ ...reach, transport: reach.transport }, work, terminal);
  });
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

/** Who asks, and with which means. */
export function operated(api: RemoteApi, machines?: Operated['machines']): Operated {
  return { api, context: novaContext({ ...OPERATOR, isAdmin: true }), machines };
}

function commandsFor(perform: Perform): readonly Command[] {
  const groups = [instanceCommand(perform), hostCommand(perform), migrationCommand(perform)];
  for (const command of groups.flatMap((group) => group.commands)) withReachFlags(command);
  return groups;
}

async function overBroker(
  { transport: url, exchange, rpc, timeoutMs, serviceDownTimeMs }: Reach & { readonly transport: string },
  work: Work,
  terminal: Terminal,
): Promise<number> {
  const open = await brokerAt(url, exchange);
  const transport = open(silentLogger);
  const { computeVersionCap: versionCap, opsTopic, topics } = rpc;
  const api = new RemoteApi(transport, {
    api: { versionCap, topics, rpcTimeoutMs: timeoutMs, ...(opsTopic !== undefined && { opsTopic }) },
    timeoutMs,
    liveness: new Liveness({ serviceDownTimeMs }),
  });
  const code = await performWork(work, operated(api), terminal);
  await transport.close();
  return code;
}

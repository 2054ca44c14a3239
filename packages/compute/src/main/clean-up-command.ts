import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger, Transport } from '@ebbgate/core';
import { Command } from 'commander';
import { InstanceLocks } from '../compute/instance-locks.js';
import { cleanUpEvacuated } from '../compute/operations/evacuated-guests.js';
import { RemoteRecords } from '../db/remote-records.js';
import { RemoteNetworking } from '../network/remote.js';
import { checkHost } from '../operator/named.js';
import { failWith } from '../operator/perform-work.js';
import { OperatorError, OperatorUsageError } from '../operator/work.js';
import { ComputeApi } from '../rpc/compute-api.js';
import { novaContext } from '../rpc/nova-context.js';
import { FakeVirtDriver } from '../virt/fake.js';
import { HypervisorDirectory } from '../virt/hypervisor-directory.js';
import { brokerAt } from './broker.js';
import { stderrLog } from './daemon.js';
import { localTerminal } from './local-terminal.js';
import { type Reach, readReach, withReachFlags } from './operator-reach.js';

interface CleanUp {
  readonly host: string;
  readonly stateDir: string;
}

/**
 * `host clean-up`: what a host that is forced down does when it starts, for one that is told not to start then. Runs on the
 * machine of the host.
 */
export function cleanUpCommand(beforeOutput: () => void): Command {
  const command = new Command('clean-up')
    .description(
      'On the machine of a host that is forced down, and does not run: removes what was evacuated from it.',
    )
    .requiredOption('--host <name>', 'its name')
    .requiredOption('--state-dir <folder>', 'where its guests are')
    .exitOverride();
  return withReachFlags(command).action(async (given: CleanUp) => {
    beforeOutput();
    const reach = reachOf(command);
    const logger = stderrLog('error');
    const terminal = localTerminal();
    const transport = (await brokerAt(reach.transport, reach))(logger);
    try {
      terminal.out(`${await cleanUp(given, transport, reach.timeoutMs, logger)}\n`);
    } catch (error) {
      process.exitCode = failWith(error, terminal);
    } finally {
      await transport.close();
    }
  });
}

function reachOf(command: Command): Reach & { readonly transport: string } {
  const reach = readReach(command, process.env);
  const { transport } = reach;
  if (transport !== undefined) return { ...reach, transport };
  throw new OperatorUsageError(
    'host clean-up needs the broker of the cloud: give --transport or EBBGATE_URL',
  );
}

/** Resolves with what was done. @throws OperatorError when it must not be done, or is not done wholly */
export async function cleanUp(
  { host, stateDir }: CleanUp,
  transport: Transport,
  timeoutMs: number,
  logger: Logger,
): Promise<string> {
  const records = new RemoteRecords(transport, { timeoutMs });
  await checkHost({ records }, host);
  if (!(await records.services.get('compute', host)).forcedDown)
    throw new OperatorError(`${host} is not forced down: its own process cleans up when it starts`);
  if (!existsSync(join(stateDir, host)))
    throw new OperatorError(`${stateDir} is not where the guests of ${host} are: it has no such folder`);
  const networking = new RemoteNetworking(transport, { timeoutMs });
  const network = new HypervisorDirectory(stateDir);
  const virt = new FakeVirtDriver(host, { network, networking, spawnMs: 0, migrationMs: 0 });
  const computeApi = new ComputeApi(transport, { services: records.services, rpcTimeoutMs: timeoutMs });
  const locks = new InstanceLocks(new AbortController().signal);
  const left = async (): Promise<number> => {
    const from = { source_compute: host, migration_type: 'evacuation', status: 'done' } as const;
    return (await records.migrations.find(from)).length;
  };
  const before = await left();
  await cleanUpEvacuated({ host, records, virt, computeApi, locks, logger }, novaContext({ isAdmin: true }));
  const after = await left();
  if (after > 0)
    throw new OperatorError(`What ${after} evacuations have left on ${host} could not be removed`);
  return `${host} is clean: ${before} evacuations are completed`;
}

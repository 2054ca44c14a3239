import type { Logger } from '@ebbgate/core';
import { RemoteApi } from '../api/remote-api.js';
import { type Machines, OperatorError } from '../operator/work.js';
import { Liveness } from '../servicegroup/liveness.js';
import type { HostPart } from './all-in-one-host.js';
import { isInProcess, type OpenTransport } from './broker.js';
import { defaultControlPath, NO_CONTROL } from './control-path.js';
import { serveControl } from './control-server.js';
import { apiOptions } from './daemon.js';
import type { AllInOneOptions } from './daemon-options.js';
import { doCommand, operated } from './operator-commands.js';

/**
 * Lets the operator in by a socket when nobody else can come: on a broker of this process. Resolves with what closes it.
 * Rejects as {@link serveControl} does.
 */
export async function openControl(
  options: AllInOneOptions,
  hosts: ReadonlyMap<string, HostPart>,
  open: OpenTransport,
  logger: Logger,
): Promise<() => void> {
  const { control = defaultControlPath(), transport = 'memory:', serviceDownTime } = options;
  if (!isInProcess(transport) || control === NO_CONTROL) return () => undefined;
  const api = new RemoteApi(open(logger), {
    api: apiOptions(options, () => undefined),
    liveness: new Liveness({ serviceDownTimeMs: serviceDownTime * 1000 }),
  });
  const cloud = operated(api, machinesOf(hosts));
  const server = await serveControl(control, (argv, terminal) => doCommand(argv, cloud, terminal), logger);
  logger.info({ control }, 'ebbgate-compute instance, host and migration reach this cloud');
  return () => void server.close();
}

function machinesOf(hosts: ReadonlyMap<string, HostPart>): Machines {
  const find = (name: string): HostPart => {
    const host = hosts.get(name);
    if (host) return host;
    throw new OperatorError(`This process has no host ${name}; it has ${[...hosts.keys()].join(', ')}`);
  };
  const findThat = (name: string, mustRun: boolean): HostPart => {
    const host = find(name);
    if (host.runs === mustRun) return host;
    throw new OperatorError(
      mustRun ? `${name} does not run: start it with host start ${name}` : `${name} runs already`,
    );
  };
  return {
    kill: async (name) => find(name).kill(),
    drain: async (name) => findThat(name, true).drainAlone(),
    start: async (name) => findThat(name, false).start(),
    tell: (name) => hosts.get(name)?.reload(),
    serves: async (name) => findThat(name, true).serves(),
  };
}

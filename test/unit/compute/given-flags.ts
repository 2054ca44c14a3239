import { daemonCommands } from '#compute/main/daemon-commands.js';
import { type GivenFlags, givenFlags } from '#compute/main/daemon-flags.js';
import {
  readAllInOneOptions,
  readApiOptions,
  readComputeOptions,
  readConductorOptions,
  readSchedulerOptions,
} from '#compute/main/daemon-options.js';

/** How each daemon reads its options. */
export const READERS = {
  compute: readComputeOptions,
  conductor: readConductorOptions,
  scheduler: readSchedulerOptions,
  api: readApiOptions,
  'all-in-one': readAllInOneOptions,
} as const;

/** The daemons. */
export type Daemon = keyof typeof READERS;

/** What the program makes of a command line and an environment, without running anything. */
export function given(daemon: Daemon, argv: readonly string[], env: Record<string, string> = {}): GivenFlags {
  const command = daemonCommands().find((one) => one.name() === daemon);
  if (!command) throw new TypeError('it is there');
  command.action(() => undefined);
  command.parse([...argv], { from: 'user' });
  return givenFlags(command, env);
}

/** Its options then. @throws ConfigurationError as the program does */
export function read(daemon: Daemon, argv: readonly string[], env: Record<string, string> = {}): object {
  const { flags, sources } = given(daemon, argv, env);
  return READERS[daemon](flags, sources);
}

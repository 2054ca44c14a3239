import { ConfigurationError } from '@ebbgate/core';
import type { Command, Option } from 'commander';

/** What was given to a daemon, besides its configuration file. */
export interface GivenFlags {
  /** By their names in code. */
  readonly flags: Readonly<Record<string, unknown>>;
  /** Where each comes from, for errors: `--boot-ms`, `EBBGATE_BOOT_MS`. */
  readonly sources: ReadonlyMap<string, string>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The flags of a command, and for those that were not given, the environment: `--boot-ms` is `EBBGATE_BOOT_MS`, and the
 * broker `EBBGATE_URL`, as in the `ebbgate` command. An empty variable is none.
 * @throws ConfigurationError (`ERR_CONFIGURATION`) for a variable that must be true or false and is neither
 */
export function givenFlags(command: Command, env: Environment): GivenFlags {
  const flags: [string, unknown][] = [];
  const sources = new Map<string, string>();
  for (const option of command.options) {
    const name = option.attributeName();
    const variable = variableOf(option);
    const text = env[variable];
    if (command.getOptionValueSource(name) === 'cli') {
      flags.push([name, command.getOptionValue(name) as unknown]); // commander says `any`
      sources.set(name, option.long ?? option.flags);
    } else if (text !== undefined && text !== '') {
      flags.push([name, valueOf(option, variable, text)]);
      sources.set(name, variable);
    }
  }
  return { flags: Object.fromEntries(flags), sources };
}

function variableOf(option: Option): string {
  const name = option.attributeName();
  if (name === 'transport') return 'EBBGATE_URL';
  return `EBBGATE_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

function valueOf(option: Option, variable: string, text: string): unknown {
  if (!option.isBoolean() && !option.negate) return text;
  const word = text.trim().toLowerCase();
  if (['true', '1', 'yes', 'on'].includes(word)) return true;
  if (['false', '0', 'no', 'off'].includes(word)) return false;
  throw new ConfigurationError(`${variable} must be true or false, not "${text}"`);
}

/** Adds the flags that all daemons have. */
export function withDaemonFlags(command: Command): Command {
  return command
    .option('--transport <url>', 'the broker; default: the environment variable EBBGATE_URL')
    .option('--driver <package>', 'a package or file with a driver for it (default: ours for the scheme)')
    .option('--exchange <name>', 'the naming scope of all topics, the same for a whole cloud (default: nova)')
    .option('--config <file>', 'a configuration file; flags and environment go before it')
    .option(
      '--compute-version-cap <level>',
      'newest compute interface that hosts are sent: a version, a Nova release, or auto; below 6.5: no ops topic',
    )
    .option('--ops-topic <name>', 'topic of what finishes operations (default: compute-ops)')
    .option(
      '--topic <method=main|ops>',
      'another topic for a method; can be given again',
      (one, before?: string) => (before === undefined ? one : `${before},${one}`),
    )
    .option('--rpc-response-timeout <seconds>', 'for calls, and signs of life of long ones (default: 60)')
    .option('--report-interval <seconds>', 'from one state report to the next (default: 10)')
    .option('--health <port>', 'serve /livez, /readyz and /metrics on that port; 0: any')
    .option('--health-host <address>', 'and at that address, as 0.0.0.0 for probes (default: 127.0.0.1)')
    .option('--graceful-shutdown-timeout <seconds>', 'longest drain; 0: no limit (default: 180)')
    .option('--manager-shutdown-timeout <seconds>', 'for tasks to end; 0: do not wait (default: 160)')
    .option('--cleanup-timeout <seconds>', 'for cleaning up (default: 10)')
    .option('--closing-timeout <seconds>', 'for replies and acknowledgements (default: 5)')
    .option('--termination-grace-period <seconds>', 'what the supervisor waits before SIGKILL, to be checked')
    .option(
      '--notifications <where>',
      'none, log, or versioned: to the broker, in the form of Nova (default: none)',
    )
    .option('--notification-topic <name>', 'where they go (default: versioned_notifications)')
    .option('--notify-on-state-change <which>', 'none, vm_state or vm_and_task_state (default: none)')
    .option('--log-level <level>', 'silent, error, warn, info or debug, on stderr (default: info)')
    .option('--events', 'print what happens, one JSON object a line')
    .option('--end-with-parent', 'end at once when the Node process that started this one has ended');
}

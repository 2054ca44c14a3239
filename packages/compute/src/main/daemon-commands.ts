import { Command } from 'commander';
import { withApiFlags } from './api-flags.js';
import { withCellFlags } from './cell-flags.js';
import { type GivenFlags, givenFlags, withDaemonFlags } from './daemon-flags.js';
import {
  readAllInOneOptions,
  readApiOptions,
  readComputeOptions,
  readConductorOptions,
  readSchedulerOptions,
} from './daemon-options.js';

const DAEMON_HELP = `
Every option can also come from the environment (--boot-ms is EBBGATE_BOOT_MS) and from the file of --config (boot_ms):
the command line goes before the environment, and that before the file.
SIGTERM and the first SIGINT drain; a SIGINT while it drains ends it at once.
Exit codes: 0 all was finished · 1 could not start · 2 usage · 3 work was left · 4 the overall time-out, or SIGALRM, ended it ·
5 forced down, and not to start then · 130 SIGINT while draining.`;

const OWN_FOLDER = '(default: ebbgate-compute/EXCHANGE in XDG_DATA_HOME, or in ~/.local/share)';
const RETRIES = 'so many more hosts are asked to take a guest that moves live; -1: all (default: -1)';

/** The commands that are daemons. What each runs is loaded when it runs, as no other command needs it. */
export function daemonCommands(): readonly Command[] {
  return [computeCommand(), conductorCommand(), schedulerCommand(), apiCommand(), allInOneCommand()];
}

function computeCommand(): Command {
  const command = new Command('compute')
    .description('A compute host with a fake hypervisor. SIGTERM drains it.')
    .option('--host <name>', 'its name: the server of its topics (default: that of the machine)')
    .option('--state-dir <folder>', 'where the guests of all hosts are kept; shared by them; needed');
  return finish(withHostFlags(command), async ({ flags, sources }) => {
    const { runCompute } = await import('./compute-daemon.js');
    await runCompute(readComputeOptions(flags, sources));
  });
}

function conductorCommand(): Command {
  const command = new Command('conductor')
    .description('A conductor: has the records in a database, and serves them. SIGTERM drains it.')
    .option(
      '--database <url>',
      'sqlite:///FILE or postgresql://…; several can share one; memory: (default: records.sqlite in --state-dir)',
    )
    .option(
      '--state-dir <folder>',
      `where its database is, when none is given, and its journal ${OWN_FOLDER}`,
    )
    .option('--records <where>', 'database; or rpc: uses those of other conductors (default: database)')
    .option('--scheduler <where>', 'who chooses hosts: rpc, the schedulers; local: itself (default: rpc)')
    .option('--allow-resize-to-same-host', 'an instance may get its new size on the host where it is')
    .option('--migrate-max-retries <n>', RETRIES);
  const run = async ({ flags, sources }: GivenFlags): Promise<void> => {
    const { runConductor } = await import('./conductor-daemon.js');
    await runConductor(readConductorOptions(flags, sources));
  };
  return finish(withCellFlags(withDownTime(withPoolFlags(command))), run);
}

function schedulerCommand(): Command {
  const command = new Command('scheduler')
    .description('A scheduler: chooses hosts and claims them. SIGTERM drains it.')
    .option('--database <url>', 'that of the conductors; default: asks them');
  const run = async ({ flags, sources }: GivenFlags): Promise<void> => {
    const { runScheduler } = await import('./scheduler-daemon.js');
    await runScheduler(readSchedulerOptions(flags, sources));
  };
  return finish(withDownTime(withPoolFlags(command)), run);
}

function apiCommand(): Command {
  const command = new Command('api')
    .description("The HTTP API, after Nova's: who is up, and what operators say of hosts. SIGTERM drains it.")
    .option('--listen <host:port>', 'where it is (default: 127.0.0.1:8774)')
    .option('--name <name>', 'its name (default: that of the machine)')
    .option('--database <url>', 'that of the conductors; default: asks them')
    .option(
      '--service-down-time <seconds>',
      'a service that has not reported for longer is down (default: 60)',
    );
  const run = async ({ flags, sources }: GivenFlags): Promise<void> => {
    const { runApi } = await import('./api-daemon.js');
    await runApi(readApiOptions(flags, sources));
  };
  return finish(withApiFlags(withCellFlags(command)), run);
}

function allInOneCommand(): Command {
  const command = new Command('all-in-one')
    .description(
      'Compute hosts, conductors and schedulers in one process. SIGTERM drains the hosts first, then the others.',
    )
    .option('--hosts <names>', 'the compute hosts, separated by commas; needed')
    .option('--database <url>', 'where the records are; memory: (default: records.sqlite in --state-dir)')
    .option(
      '--state-dir <folder>',
      `where the guests of all hosts are kept; with --database the default is in memory ${OWN_FOLDER}`,
    )
    .option('--workers <n>', 'how many conductors, and how many schedulers (default: 1)')
    .option('--allow-resize-to-same-host', 'an instance may get its new size on the host where it is')
    .option('--listen <host:port>', 'serve the HTTP API there (default: it is not served)')
    .option('--migrate-max-retries <n>', RETRIES)
    .option(
      '--control <path>',
      'in memory: the socket by which instance, host and migration reach it; none: no socket (default: one for each user)',
    );
  const run = async ({ flags, sources }: GivenFlags): Promise<void> => {
    const { runAllInOne } = await import('./all-in-one-daemon.js');
    await runAllInOne(readAllInOneOptions(flags, sources));
  };
  return finish(withApiFlags(withHostFlags(command)), run);
}

function withDownTime(command: Command): Command {
  const text = 'a host that has not reported for longer is down (default: 60)';
  return command.option('--service-down-time <seconds>', text);
}

function withHostFlags(command: Command): Command {
  return withDownTime(command)
    .option('--boot-ms <ms>', 'how long a boot takes (default: 600)')
    .option('--migration-ms <ms>', 'how long the memory of a guest takes to be copied (default: 4000)')
    .option('--fake-orders <file>', 'what is to go otherwise with single guests; read again when it changes')
    .option('--no-ops-server', 'serve topic compute only')
    .option('--max-concurrent-builds <n>', 'default: 10')
    .option('--max-concurrent-live-migrations <n>', 'default: 1')
    .option('--recheck-interval <seconds>', 'how often operations held open are checked (default: 10)')
    .option('--vcpus <n>', 'what the machine has (default: 64)')
    .option('--memory-mb <n>', 'what the machine has (default: 262144)')
    .option('--disk-gb <n>', 'what the machine has (default: 4096)')
    .option('--cpu-allocation-ratio <n>', 'how often each CPU may be given away (default: 4)')
    .option('--ram-allocation-ratio <n>', 'how often the memory may be given away (default: 1)')
    .option('--disk-allocation-ratio <n>', 'how often the disk may be given away (default: 1)')
    .option('--availability-zone <name>', 'zone that it is in (default: none)')
    .option(
      '--forced-down-start <what>',
      'when it is forced down at its start: clean-up, and it waits; or refuse, and it ends with 5 (default: clean-up)',
    )
    .option(
      '--resize-confirm-window <seconds>',
      'after that a resize to it is confirmed by itself; 0: never (default: 0)',
    )
    .option(
      '--shelved-offload-time <seconds>',
      'how long a shelved instance stays on it; 0: it leaves at once, -1: it stays (default: 0)',
    )
    .option(
      '--abort-before-deadline',
      'a drain puts back what may be aborted and cannot end within --manager-shutdown-timeout (default: it waits)',
    );
}

function withPoolFlags(command: Command): Command {
  command
    .option('--name <name>', 'its name: the server of its topics (default: that of the machine)')
    .option('--workers <n>', 'so many processes that share the work (default: 1)');
  const option = command.createOption('--worker', 'it is one of a pool');
  return command.addOption(option.hideHelp());
}

/** What all have; then runs it with what was given, by flags or the environment. */
function finish(command: Command, run: (given: GivenFlags) => Promise<void>): Command {
  return withDaemonFlags(command)
    .addHelpText('after', DAEMON_HELP)
    .action(() => run(givenFlags(command, process.env)));
}

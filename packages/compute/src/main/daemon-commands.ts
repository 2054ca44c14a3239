import { Command } from 'commander';
import { runAllInOne } from './all-in-one-daemon.js';
import { runCompute } from './compute-daemon.js';
import { runConductor } from './conductor-daemon.js';
import { type GivenFlags, givenFlags, withDaemonFlags } from './daemon-flags.js';
import {
  readAllInOneOptions,
  readComputeOptions,
  readConductorOptions,
  readSchedulerOptions,
} from './daemon-options.js';
import { runScheduler } from './scheduler-daemon.js';

const DAEMON_HELP = `
Every option can also come from the environment (--boot-ms is EBBGATE_BOOT_MS) and from the file of --config (boot_ms):
the command line goes before the environment, and that before the file.
SIGTERM and the first SIGINT drain; a SIGINT while it drains ends it at once.
Exit codes: 0 all was finished · 1 could not start · 2 usage · 3 work was left · 4 the overall time-out ended it ·
130 SIGINT while draining.`;

/** The commands that are daemons. */
export function daemonCommands(): readonly Command[] {
  return [computeCommand(), conductorCommand(), schedulerCommand(), allInOneCommand()];
}

function computeCommand(): Command {
  const command = new Command('compute')
    .description('A compute host with a fake hypervisor. SIGTERM drains it.')
    .option('--host <name>', 'its name: the server of its topics (default: that of the machine)')
    .option('--state-dir <folder>', 'where the guests of all hosts are kept; shared by them; needed');
  return finish(withHostFlags(command), ({ flags, sources }) =>
    runCompute(readComputeOptions(flags, sources)),
  );
}

function conductorCommand(): Command {
  const command = new Command('conductor')
    .description(
      'A conductor: has the records, in a database or in memory, and serves them. SIGTERM drains it.',
    )
    .option('--database <url>', 'sqlite:///FILE or postgresql://…; several conductors can share one')
    .option(
      '--records <where>',
      'without --database: memory, has them; rpc: uses those of others (default: memory)',
    )
    .option('--scheduler <where>', 'who chooses hosts: rpc, the schedulers; local: itself (default: rpc)');
  const run = ({ flags, sources }: GivenFlags): Promise<void> =>
    runConductor(readConductorOptions(flags, sources));
  return finish(withPoolFlags(command), run);
}

function schedulerCommand(): Command {
  const command = new Command('scheduler')
    .description('A scheduler: chooses hosts and claims them. SIGTERM drains it.')
    .option('--database <url>', 'that of the conductors; default: asks them')
    .option('--service-down-time <seconds>', 'a host that has not reported for longer is down (default: 60)');
  const run = ({ flags, sources }: GivenFlags): Promise<void> =>
    runScheduler(readSchedulerOptions(flags, sources));
  return finish(withPoolFlags(command), run);
}

function allInOneCommand(): Command {
  const command = new Command('all-in-one')
    .description(
      'Compute hosts, conductors and schedulers in one process. SIGTERM drains the hosts first, then the others.',
    )
    .option('--hosts <names>', 'the compute hosts, separated by commas; needed')
    .option('--database <url>', 'where the records are (default: in memory)')
    .option('--state-dir <folder>', 'where the guests of all hosts are kept (default: in memory)')
    .option('--workers <n>', 'how many conductors, and how many schedulers (default: 1)')
    .option(
      '--control <path>',
      'in memory: the socket by which instance, host and migration reach it; none: no socket (default: one for each user)',
    )
    .option('--service-down-time <seconds>', 'a host that has not reported for longer is down (default: 60)');
  const run = ({ flags, sources }: GivenFlags): Promise<void> =>
    runAllInOne(readAllInOneOptions(flags, sources));
  return finish(withHostFlags(command), run);
}

function withHostFlags(command: Command): Command {
  return command
    .option('--boot-ms <ms>', 'how long a boot takes (default: 600)')
    .option('--migration-ms <ms>', 'how long the memory of a guest takes to be copied (default: 4000)')
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
    .option('--availability-zone <name>', 'zone that it is in (default: none)');
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

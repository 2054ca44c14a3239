import type { Handlers } from '../rpc/endpoint.js';
import type { ComputeMethods } from '../rpc/methods.js';
import type { HostContext } from './host-context.js';
import { consoleOutput, openConsole, validateConsolePort } from './operations/console.js';
import { Evacuate } from './operations/evacuate.js';
import { Power } from './operations/power.js';
import { Rebuild } from './operations/rebuild.js';
import { beginSnapshot } from './operations/snapshot.js';
import { Terminate } from './operations/terminate.js';

/** Methods of {@link actionHandlers} whose work is a task of its own. */
export const ACTIONS_SELF_TRACKED: readonly string[] = [
  'terminate_instance',
  'start_instance',
  'stop_instance',
  'reboot_instance',
  'snapshot_instance',
  'rebuild_instance',
];

/** What a host answers to when something is done to one of its instances where that is. */
export function actionHandlers(host: HostContext): Handlers<ComputeMethods> {
  const { virt } = host;
  const terminate = new Terminate(host);
  const power = new Power(host);
  const rebuild = new Rebuild(host);
  const evacuate = new Evacuate(host, rebuild);
  return {
    terminate_instance: (context, args) => {
      terminate.begin(context, args);
    },
    start_instance: (context, args) => {
      power.start(context, args);
    },
    stop_instance: (context, args) => {
      power.stop(context, args);
    },
    reboot_instance: (context, args) => {
      power.reboot(context, args);
    },
    snapshot_instance: (context, args) => {
      beginSnapshot(host, context, args);
    },
    rebuild_instance: (context, args) => {
      if (args.recreate === true) evacuate.begin(context, args);
      else rebuild.begin(context, args);
    },
    get_console_output: (_context, args) => consoleOutput(virt, args),
    get_vnc_console: (_context, args) => openConsole(virt, args.instance, args.console_type),
    get_spice_console: (_context, args) => openConsole(virt, args.instance, args.console_type),
    get_serial_console: (_context, args) => openConsole(virt, args.instance, args.console_type),
    validate_console_port: (_context, args) => validateConsolePort(virt, args),
  };
}

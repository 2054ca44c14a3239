import { randomUUID } from 'node:crypto';
import type { Instance } from '../../objects/instance.js';
import type { Dictionary } from '../../rpc/kinds.js';
import type { ArgsOf, ComputeMethods } from '../../rpc/methods.js';
import type { VirtDriver } from '../../virt/driver.js';

/** What the guest has written to its console: the last lines of it when `tail_length` names a number of them. */
export function consoleOutput(
  virt: VirtDriver,
  args: ArgsOf<ComputeMethods['get_console_output']>,
): Promise<string> {
  const tail = Number(args.tail_length ?? Number.NaN); // Nova's API sends text, a number or null
  return virt.consoleOutput(args.instance.get('uuid'), Number.isInteger(tail) && tail >= 0 ? tail : null);
}

/** Where a console can be reached, with a token of its own for the proxy. */
export async function openConsole(virt: VirtDriver, instance: Instance, type: string): Promise<Dictionary> {
  const { host, port } = await virt.console(instance.get('uuid'), type);
  return { token: randomUUID(), host, port, internal_access_path: null, console_type: type };
}

/**
 * Is that the port of the console that a proxy was given a token for? Asked on ops, so that a console which was asked for
 * is delivered also while the host drains (`compute-rpc.md` 3.8). Never an error: a guest that is gone has no port.
 */
export async function validateConsolePort(
  virt: VirtDriver,
  { instance, port, console_type: type }: ArgsOf<ComputeMethods['validate_console_port']>,
): Promise<boolean> {
  const uuid = instance.get('uuid');
  if ((await virt.guestState(uuid)) === undefined) return false;
  return (await virt.console(uuid, type)).port === port;
}

import type { RequestContext } from '@ebbgate/core';
import type { Instance } from '../objects/instance.js';
import type { Handlers } from '../rpc/endpoint.js';
import type { ComputeMethods } from '../rpc/methods.js';
import type { GuestControl } from '../virt/guest-control.js';
import type { HostContext } from './host-context.js';
import { Attachments } from './operations/attachments.js';
import {
  beginGuestAction,
  type GuestActionArgs,
  type GuestActionName,
  setAdminPassword,
} from './operations/guest-actions.js';
import type { Shelve } from './operations/shelve.js';
import { Unshelve } from './operations/unshelve.js';

/** Methods of {@link guestHandlers} whose work is a task of its own. */
export const GUEST_SELF_TRACKED: readonly string[] = [
  'pause_instance',
  'unpause_instance',
  'suspend_instance',
  'resume_instance',
  'rescue_instance',
  'unrescue_instance',
  'shelve_instance',
  'shelve_offload_instance',
  'unshelve_instance',
  'attach_volume',
  'allow_share',
  'deny_share',
];

/** What a host answers to when a guest is held, mended, put away, or given something. */
export function guestHandlers(host: HostContext, shelve: Shelve): Handlers<ComputeMethods> {
  const attachments = new Attachments(host);
  const unshelve = new Unshelve(host);
  const begin =
    (name: GuestActionName) =>
    (context: RequestContext, args: GuestActionArgs): void => {
      beginGuestAction(host, context, name, args);
    };
  /** What takes no time worth a task of its own; nothing else is done to the guest meanwhile. */
  const control =
    (work: (control: GuestControl, instance: Instance) => Promise<void>) =>
    (_context: RequestContext, { instance }: { readonly instance: Instance }): Promise<void> =>
      host.locks.run(instance.get('uuid'), () => work(host.virt.control, instance));
  return {
    pause_instance: begin('pause_instance'),
    unpause_instance: begin('unpause_instance'),
    suspend_instance: begin('suspend_instance'),
    resume_instance: begin('resume_instance'),
    rescue_instance: begin('rescue_instance'),
    unrescue_instance: begin('unrescue_instance'),
    set_admin_password: (_context, args) => setAdminPassword(host, args),
    trigger_crash_dump: (context, { instance }) =>
      host.locks.run(instance.get('uuid'), async () => {
        host.emit({ context, action: 'trigger_crash_dump', phase: 'start', instance });
        await host.virt.control.injectNmi(instance);
        host.emit({ context, action: 'trigger_crash_dump', phase: 'end', instance });
      }),
    quiesce_instance: control((virt, instance) => virt.quiesce(instance)),
    unquiesce_instance: control((virt, instance) => virt.unquiesce(instance)),
    shelve_instance: (context, args) => {
      shelve.begin(context, args);
    },
    shelve_offload_instance: (context, args) => {
      shelve.beginOffload(context, args);
    },
    unshelve_instance: (context, args) => {
      unshelve.begin(context, args);
    },
    reserve_block_device_name: (_context, args) => attachments.reserve(args),
    attach_volume: (context, args) => {
      attachments.attach(context, args);
    },
    allow_share: (context, args) => {
      attachments.allowShare(context, args);
    },
    deny_share: (context, args) => {
      attachments.denyShare(context, args);
    },
    set_host_enabled: async (_context, { enabled }) => {
      const { services } = host.records;
      const changes = enabled ? { disabled: false, disabledReason: null } : { disabled: true };
      // Our own API has written it already, and told everybody.
      const isNews = (await services.get('compute', host.host)).disabled === enabled;
      if (isNews) await services.update('compute', host.host, changes);
      return enabled ? 'enabled' : 'disabled';
    },
  };
}

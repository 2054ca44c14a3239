import type { RequestContext } from '@ebbgate/core';
import { ValidationError } from '@ebbgate/rpc';
import { giveVolume } from '../../api/give-volume.js';
import { UnexpectedStateError } from '../../errors.js';
import type { ConductorMethods } from '../../rpc/conductor-methods.js';
import type { ArgsOf } from '../../rpc/methods.js';
import type { ConductorContext } from '../conductor-context.js';

/**
 * Gives an instance a volume: its host finds a name for it, and is then told to attach it. Resolves with that name.
 * @throws what the host refuses it with; ValidationError (`ERR_VALIDATION`) when the volume tells no id
 */
export async function attachVolume(
  { records, computeApi }: ConductorContext,
  context: RequestContext,
  args: ArgsOf<ConductorMethods['attach_volume']>,
): Promise<string> {
  const instance = await records.instances.get(args.instance.get('uuid'));
  const host = instance.find('host') ?? null;
  if (host === null) throw new UnexpectedStateError(`Instance ${instance.get('uuid')} is on no host`);
  const volumeId: unknown = new Map(Object.entries(args.volume)).get('id');
  if (typeof volumeId !== 'string') {
    throw new ValidationError('attach_volume', [{ path: 'volume.id', message: 'must be string' }]);
  }
  return giveVolume(computeApi, context, host, {
    instance,
    device: args.device,
    volume_id: volumeId,
    disk_bus: args.disk_bus,
    device_type: args.device_type,
    tag: args.tag,
    multiattach: args.supports_multiattach,
    deleteOnTermination: args.delete_on_termination,
  });
}

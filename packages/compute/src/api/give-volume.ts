import type { CallerContext } from '@ebbgate/rpc';
import { UnexpectedStateError } from '../errors.js';
import { BlockDeviceMapping } from '../objects/block-device.js';
import type { ComputeApi } from '../rpc/compute-api.js';
import type { ArgsOf, ComputeMethods } from '../rpc/methods.js';

/** Which volume, and how the guest is to get it. */
export interface VolumeWish extends ArgsOf<ComputeMethods['reserve_block_device_name']> {
  /** It goes when the instance goes. */
  readonly deleteOnTermination: boolean;
}

/** Has a host find a name for a volume, then tells it to attach it. Resolves with that name; rejects as the host refuses it. */
export async function giveVolume(
  computeApi: ComputeApi,
  context: CallerContext,
  host: string,
  { deleteOnTermination, ...wish }: VolumeWish,
): Promise<string> {
  const bdm: unknown = await computeApi.call(context, 'reserve_block_device_name', host, wish);
  if (!BlockDeviceMapping.is(bdm)) throw new UnexpectedStateError(`Host ${host} has named no disk`);
  bdm.update({ delete_on_termination: deleteOnTermination });
  await computeApi.cast(context, 'attach_volume', host, { instance: wish.instance, bdm });
  return bdm.get('device_name') ?? '';
}

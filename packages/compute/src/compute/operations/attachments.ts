import { randomUUID } from 'node:crypto';
import type { RequestContext } from '@ebbgate/core';
import { UnexpectedStateError } from '../../errors.js';
import { BlockDeviceMapping, BlockDeviceMappingList } from '../../objects/block-device.js';
import type { Instance } from '../../objects/instance.js';
import { NovaObject } from '../../objects/nova-object.js';
import { ShareMapping, type ShareMappingFields } from '../../objects/share-mapping.js';
import type { ArgsOf, ComputeMethods } from '../../rpc/methods.js';
import type { InstanceAction } from '../../notifications/compute-event.js';
import type { HostContext } from '../host-context.js';
import { beginAction } from '../instance-action.js';

type Args<Name extends keyof ComputeMethods> = ArgsOf<ComputeMethods[Name]>;

/** What there is for disks besides that of the guest itself, `/dev/vda`. */
const LETTERS = Array.from('bcdefghijklmnopqrstuvwxyz');

/**
 * Volumes and shares that an instance is given after its boot. They are kept with its record, and written under its lock,
 * so that no two get the same name.
 */
export class Attachments {
  readonly #host: HostContext;

  constructor(host: HostContext) {
    this.#host = host;
  }

  /**
   * Finds a name for a volume, and keeps it. Resolves with the mapping that `attach_volume` is to bring.
   * @throws UnexpectedStateError (`ERR_UNEXPECTED_STATE`) when the instance has that volume, or another one under that name
   */
  reserve(args: Args<'reserve_block_device_name'>): Promise<BlockDeviceMapping> {
    const { volume_id: volumeId, device } = args;
    const uuid = args.instance.get('uuid');
    return this.#host.locks.run(uuid, async () => {
      const instance = await this.#here(uuid);
      const present = volumesOf(instance);
      if (present.some((one) => one.get('volume_id') === volumeId)) {
        throw new UnexpectedStateError(`Instance ${uuid} has volume ${volumeId} already`);
      }
      const mapping = BlockDeviceMapping.create({
        uuid: randomUUID(),
        instance_uuid: uuid,
        source_type: 'volume',
        destination_type: 'volume',
        device_name: freeName(uuid, present, device === '' ? null : device),
        boot_index: null,
        volume_id: volumeId,
        image_id: null,
        attachment_id: null,
        delete_on_termination: false,
        disk_bus: args.disk_bus,
        device_type: args.device_type,
        tag: args.tag,
      });
      await this.#keepVolumes(uuid, [...present, mapping]);
      return mapping;
    });
  }

  /** Gives the guest a volume. When that fails its name is free again. */
  attach(context: RequestContext, args: Args<'attach_volume'>): void {
    const uuid = args.instance.get('uuid');
    beginAction(this.#host, context, 'attach_volume', uuid, async () => {
      const instance = await this.#here(uuid);
      const mapping: unknown = args.bdm;
      if (!BlockDeviceMapping.is(mapping)) throw new UnexpectedStateError('This is no mapping of a volume');
      const [volumeId, name] = [mapping.get('volume_id') ?? '', mapping.get('device_name') ?? ''];
      const others = volumesOf(instance).filter((one) => one.get('volume_id') !== volumeId);
      const event = { context, action: 'volume_attach', instance, volumeId } as const;
      this.#host.emit({ ...event, phase: 'start' });
      try {
        await this.#host.virt.control.attachVolume(instance, volumeId, name);
        const attachment_id = mapping.find('attachment_id') ?? randomUUID();
        const attached = await this.#keepVolumes(uuid, [
          ...others,
          mapping.clone().update({ attachment_id }),
        ]);
        this.#host.emit({ ...event, phase: 'end', instance: attached });
      } catch (error) {
        this.#host.emit({ ...event, phase: 'error', error });
        if (!this.#host.lifetime.aborted) await this.#keepVolumes(uuid, others);
        throw error;
      }
    });
  }

  /** After the end of a run: names that were found for volumes whose attaching has not come are free. If it comes after all it brings its name. */
  async freeReserved(): Promise<void> {
    const { records, host } = this.#host;
    for (const instance of await records.instances.find({ host })) {
      const present = volumesOf(instance);
      const attached = present.filter((one) => !isReserved(one));
      if (attached.length < present.length) await this.#keepVolumes(instance.get('uuid'), attached);
    }
  }

  /** Lets the host reach a share. The secrets of the access are not kept. */
  allowShare(context: RequestContext, args: Args<'allow_share'>): void {
    const names = { task: 'allow_share', action: 'share_attach' } as const;
    this.#withShare(context, names, args, async (instance, share, others) => {
      await this.#host.virt.control.allowShare(instance, share.get('share_id'));
      return [...others, share];
    });
  }

  /** Takes that back. */
  denyShare(context: RequestContext, args: Args<'deny_share'>): void {
    const names = { task: 'deny_share', action: 'share_detach' } as const;
    this.#withShare(context, names, args, async (instance, share, others) => {
      await this.#host.virt.control.denyShare(instance, share.get('share_id'));
      return others;
    });
  }

  #withShare(
    context: RequestContext,
    { task, action }: { readonly task: string; readonly action: InstanceAction },
    { instance: sent, share_mapping: mapping }: Args<'allow_share'>,
    work: (
      instance: Instance,
      share: ShareMapping,
      others: readonly ShareMapping[],
    ) => Promise<readonly ShareMapping[]>,
  ): void {
    const uuid = sent.get('uuid');
    beginAction(this.#host, context, task, uuid, async () => {
      const share = withoutSecrets(mapping);
      const instance = await this.#here(uuid);
      const event = { context, action, instance, shareId: share.get('share_id') };
      this.#host.emit({ ...event, phase: 'start' });
      const others = (instance.find('share_mapping') ?? []).filter(
        (one) => one.get('share_id') !== share.get('share_id'),
      );
      try {
        const changes = { share_mapping: await work(instance, share, others) };
        const { host, records } = this.#host;
        const changed = await records.instances.update(uuid, changes, { host: [host] });
        this.#host.emit({ ...event, phase: 'end', instance: changed });
      } catch (error) {
        this.#host.emit({ ...event, phase: 'error', error });
        throw error;
      }
    });
  }

  async #here(uuid: string): Promise<Instance> {
    const { records, host } = this.#host;
    const instance = await records.instances.get(uuid);
    if (instance.find('host') === host) return instance;
    throw new UnexpectedStateError(`Instance ${uuid} is not on ${host}`);
  }

  async #keepVolumes(uuid: string, objects: readonly BlockDeviceMapping[]): Promise<Instance> {
    const changes = { block_device_mapping: BlockDeviceMappingList.create({ objects }) };
    return this.#host.records.instances.update(uuid, changes, { host: [this.#host.host] });
  }
}

function volumesOf(instance: Instance): readonly BlockDeviceMapping[] {
  return instance.find('block_device_mapping')?.get('objects') ?? [];
}

function isReserved(mapping: BlockDeviceMapping): boolean {
  const isOurs = mapping.find('source_type') === 'volume' && mapping.find('boot_index') === null;
  return isOurs && mapping.find('attachment_id') === null;
}

function freeName(uuid: string, present: readonly BlockDeviceMapping[], wished: string | null): string {
  const taken = new Set(['/dev/vda', ...present.map((one) => one.get('device_name'))]);
  const name = wished ?? LETTERS.map((letter) => `/dev/vd${letter}`).find((one) => !taken.has(one));
  if (name !== undefined && !taken.has(name)) return name;
  throw new UnexpectedStateError(`Instance ${uuid} has no disk name left, or has ${name ?? 'all'} already`);
}

/** What gives access is told with the request, and is nobody else's to know. */
function withoutSecrets(mapping: NovaObject): ShareMapping {
  if (!ShareMapping.is(mapping)) throw new UnexpectedStateError('This is no mapping of a share');
  const kept = [...mapping.entries()].filter(([name]) => !name.startsWith('access_'));
  return new NovaObject<ShareMappingFields>(mapping.identity, kept).update({ status: 'inactive' });
}

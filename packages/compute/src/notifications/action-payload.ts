import type { ApiEvent, InstanceAction, InstanceEvent } from './compute-event.js';
import { exceptionPayload } from './exception-payload.js';
import { flavorPayload } from './flavor-payload.js';
import { instanceData } from './instance-payload.js';
import { versioned, type VersionedPayload } from './versioned-payload.js';

/** What the payload of an action has besides what all have. */
interface PayloadKind {
  readonly name: string;
  readonly version: string;
  readonly more: (event: InstanceEvent) => Readonly<Record<string, unknown>>;
}

const PLAIN: PayloadKind = { name: 'InstanceActionPayload', version: '1.9', more: () => ({}) };

const SHARE: PayloadKind = {
  name: 'InstanceActionSharePayload',
  version: '1.0',
  more: ({ shareId }) => ({ share_id: shareId ?? null }),
};

const KINDS: Readonly<Partial<Record<InstanceAction, PayloadKind>>> = {
  create: {
    name: 'InstanceCreatePayload',
    version: '1.13',
    more: ({ instance }) => ({
      keypairs: [],
      tags: [],
      trusted_image_certificates: null,
      instance_name: nameAtHypervisor(instance.find('id') ?? 0),
    }),
  },
  snapshot: {
    name: 'InstanceActionSnapshotPayload',
    version: '1.10',
    more: ({ imageId }) => ({ snapshot_image_id: imageId ?? null }),
  },
  rescue: {
    name: 'InstanceActionRescuePayload',
    version: '1.4',
    more: ({ rescueImage }) => ({ rescue_image_ref: rescueImage ?? null }),
  },
  rebuild: {
    name: 'InstanceActionRebuildPayload',
    version: '1.10',
    more: () => ({ trusted_image_certificates: null }),
  },
  resize_prep: {
    name: 'InstanceActionResizePrepPayload',
    version: '1.4',
    more: ({ newFlavor }) => ({ new_flavor: newFlavor ? flavorPayload(newFlavor) : null }),
  },
  volume_attach: {
    name: 'InstanceActionVolumePayload',
    version: '1.7',
    more: ({ volumeId }) => ({ volume_id: volumeId ?? null }),
  },
  share_attach: SHARE,
  share_detach: SHARE,
};

/** Of what an API was asked for. */
export function askedPayload({ context, instance }: ApiEvent): VersionedPayload {
  return versioned(PLAIN.name, PLAIN.version, { ...instanceData(instance, context.values), fault: null });
}

/** The payload of an action, in the version of Nova that each kind has. */
export function actionPayload(event: InstanceEvent): VersionedPayload {
  const { name, version, more } = KINDS[event.action] ?? PLAIN;
  return versioned(name, version, {
    ...instanceData(event.instance, event.context.values),
    fault: event.phase === 'error' ? exceptionPayload(event.error) : null,
    ...more(event),
  });
}

/** As Nova names guests by default: `instance-0000000a`. */
function nameAtHypervisor(id: number): string {
  return `instance-${id.toString(16).padStart(8, '0')}`;
}

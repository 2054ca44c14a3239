import { type Instance, NovaObject } from '@ebbgate/compute';

export const VOLUME = 'f0f0f0f0-0000-4000-8000-000000000001';

/** A share that an instance is to be given, as it is asked for. */
export function share(instance: Instance): NovaObject {
  return new NovaObject({ name: 'ShareMapping', namespace: 'nova', version: '1.2' }, [
    ['uuid', 'a0a0a0a0-0000-4000-8000-000000000001'],
    ['instance_uuid', instance.get('uuid')],
    ['share_id', 'a0a0a0a0-0000-4000-8000-000000000002'],
    ['status', 'attaching'],
    ['tag', 'data'],
    ['export_location', '10.0.0.1:/data'],
    ['share_proto', 'CEPHFS'],
    ['access_key', 'a-secret'],
  ]);
}

import { defineObject, type ObjectDefinition } from './definition.js';
import type { NovaObject } from './nova-object.js';

/** A share that an instance is given. */
export interface ShareMappingFields {
  /** The key of the record. */
  readonly uuid: string;
  /** The instance that is given it. */
  readonly instance_uuid: string;
  /** The share's uuid in the share service. */
  readonly share_id: string;
  /** `inactive`: its host has access to it; the guest has it from its next start on. */
  readonly status: 'attaching' | 'detaching' | 'active' | 'inactive' | 'error';
  /** By which the guest finds it. */
  readonly tag: string;
  /** Where the share service has it. */
  readonly export_location: string;
  /** How it is reached. */
  readonly share_proto: 'NFS' | 'CEPHFS';
}

/** Nova's object ShareMapping. */
export type ShareMapping = NovaObject<ShareMappingFields>;
/** How to make and read Nova's object ShareMapping. */
export const ShareMapping: ObjectDefinition<ShareMappingFields> = defineObject<ShareMappingFields>(
  'ShareMapping',
  '1.2',
);

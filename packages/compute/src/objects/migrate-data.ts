import { defineObject, type ObjectDefinition } from './definition.js';
import type { NovaObject } from './nova-object.js';

/** What the two ends of a live migration tell each other. */
export interface LibvirtLiveMigrateDataFields {
  readonly filename: string;
  readonly image_type: string;
  readonly block_migration: boolean;
  readonly disk_over_commit: boolean;
  readonly disk_available_mb: number | null;
  readonly is_shared_instance_path: boolean;
  readonly is_shared_block_storage: boolean;
  readonly instance_relative_path: string;
  readonly is_volume_backed: boolean;
  readonly old_vol_attachment_ids: Readonly<Record<string, string>>;
  /** The source waits for `network-vif-plugged` before it lets the guest go. */
  readonly wait_for_vif_plugged: boolean;
}

/** Nova's object LibvirtLiveMigrateData. */
export type LibvirtLiveMigrateData = NovaObject<LibvirtLiveMigrateDataFields>;
/** How to make and read Nova's object LibvirtLiveMigrateData. */
export const LibvirtLiveMigrateData: ObjectDefinition<LibvirtLiveMigrateDataFields> =
  defineObject<LibvirtLiveMigrateDataFields>('LibvirtLiveMigrateData', '1.10');

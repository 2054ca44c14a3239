import { defineObject, type ObjectDefinition } from './definition.js';
import type { NovaObject } from './nova-object.js';

/** What the two ends of a live migration tell each other. */
export interface LibvirtLiveMigrateDataFields {
  /** A file that the destination made among its instances: the source sees it when they share that folder. */
  readonly filename: string;
  /** How the destination keeps disks: `qcow2`, `raw`, `rbd`, … */
  readonly image_type: string;
  /** Disks are copied too, as the two ends do not share them. */
  readonly block_migration: boolean;
  /** Room for copied disks is reckoned by what they hold and not by their full size. */
  readonly disk_over_commit: boolean;
  /** MiB that the destination has free for disks; null: it has not looked. */
  readonly disk_available_mb: number | null;
  /** Both ends keep their instances in the same folder. */
  readonly is_shared_instance_path: boolean;
  /** Both ends reach the same disks of the guest. */
  readonly is_shared_block_storage: boolean;
  /** The instance's folder, relative to the folder of all instances. */
  readonly instance_relative_path: string;
  /** It boots from a volume: there is no root disk to copy. */
  readonly is_volume_backed: boolean;
  /** The source's attachment of each volume, by volume id: a rollback returns to these. */
  readonly old_vol_attachment_ids: Readonly<Record<string, string>>;
  /** The destination claims the CPUs and memory nodes that the guest is to be pinned to. */
  readonly dst_supports_numa_live_migration: boolean;
  /** The source knows of such a claim: it has it dropped when the migration is taken back. */
  readonly src_supports_numa_live_migration: boolean;
  /** The source waits for `network-vif-plugged` before it lets the guest go. */
  readonly wait_for_vif_plugged: boolean;
}

/** Nova's object LibvirtLiveMigrateData. */
export type LibvirtLiveMigrateData = NovaObject<LibvirtLiveMigrateDataFields>;
/** How to make and read Nova's object LibvirtLiveMigrateData. */
export const LibvirtLiveMigrateData: ObjectDefinition<LibvirtLiveMigrateDataFields> =
  defineObject<LibvirtLiveMigrateDataFields>('LibvirtLiveMigrateData', '1.10');

import { defineObject, type ObjectDefinition } from './definition.js';
import type { NovaObject } from './nova-object.js';

/** One network or port that was asked for. */
export interface NetworkRequestFields {
  /** Network in which a port is to be made; null when the port is given, or the choice is left. */
  readonly network_id: string | null;
  /** A port that exists; null: one is to be made. */
  readonly port_id: string | null;
  /** The fixed IP address that it shall have; null: any. */
  readonly address: string | null;
  /** Name by which the guest can tell the interface from others; null: none. */
  readonly tag: string | null;
}

/** Nova's object NetworkRequest. */
export type NetworkRequest = NovaObject<NetworkRequestFields>;
/** How to make and read Nova's object NetworkRequest. */
export const NetworkRequest: ObjectDefinition<NetworkRequestFields> = defineObject<NetworkRequestFields>(
  'NetworkRequest',
  '1.3',
);

/** Fields of Nova's object NetworkRequestList. */
export interface NetworkRequestListFields {
  /** The entries. */
  readonly objects: readonly NetworkRequest[];
}

/** Nova's object NetworkRequestList. */
export type NetworkRequestList = NovaObject<NetworkRequestListFields>;
/** How to make and read Nova's object NetworkRequestList. */
export const NetworkRequestList: ObjectDefinition<NetworkRequestListFields> =
  defineObject<NetworkRequestListFields>('NetworkRequestList', '1.1');

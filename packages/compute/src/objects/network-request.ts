import { defineObject, type ObjectDefinition } from './definition.js';
import type { NovaObject } from './nova-object.js';

/** One network or port that was asked for. */
export interface NetworkRequestFields {
  readonly network_id: string | null;
  readonly port_id: string | null;
  readonly address: string | null;
  readonly tag: string | null;
}

export type NetworkRequest = NovaObject<NetworkRequestFields>;
export const NetworkRequest: ObjectDefinition<NetworkRequestFields> = defineObject<NetworkRequestFields>(
  'NetworkRequest',
  '1.3',
);

export interface NetworkRequestListFields {
  readonly objects: readonly NetworkRequest[];
}

export type NetworkRequestList = NovaObject<NetworkRequestListFields>;
export const NetworkRequestList: ObjectDefinition<NetworkRequestListFields> =
  defineObject<NetworkRequestListFields>('NetworkRequestList', '1.1');

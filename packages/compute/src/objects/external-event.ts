import { defineObject, type ObjectDefinition } from './definition.js';
import type { NovaObject } from './nova-object.js';

/** What another service tells of an instance. */
export interface InstanceExternalEventFields {
  /** Whom it is for. */
  readonly instance_uuid: string;
  /** `network-vif-plugged`, `network-changed`, `volume-extended`, … */
  readonly name: string;
  /** Whether what it tells of went well. */
  readonly status: 'completed' | 'failed' | 'in-progress';
  /** What of the instance it is about: the port, the volume. */
  readonly tag: string | null;
}

/** Nova's object InstanceExternalEvent. */
export type InstanceExternalEvent = NovaObject<InstanceExternalEventFields>;
/** How to make and read Nova's object InstanceExternalEvent. */
export const InstanceExternalEvent: ObjectDefinition<InstanceExternalEventFields> =
  defineObject<InstanceExternalEventFields>('InstanceExternalEvent', '1.5');

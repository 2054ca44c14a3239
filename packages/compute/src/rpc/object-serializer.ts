import type { SerializedContext, Serializer } from '@ebbgate/core';
import { decodeObjects, encodeObjects } from '../objects/codec.js';

/** Sends versioned objects, and makes objects of those that arrive: on both sides of every RPC of the package. */
export const objectSerializer: Serializer = Object.freeze({
  serializeEntity: (_context: SerializedContext, entity: unknown): unknown => encodeObjects(entity),
  deserializeEntity: (_context: SerializedContext, entity: unknown): unknown => decodeObjects(entity),
  serializeContext: (context: SerializedContext): SerializedContext => context,
  deserializeContext: (context: SerializedContext): SerializedContext => context,
});

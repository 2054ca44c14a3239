import { toPlainWithInstances } from './plain-copy.js';

/** A request context as it travels: one member for each `_context_…` of the message. */
export type SerializedContext = Readonly<Record<string, unknown>>;

/**
 * Turns what the application uses into what can travel, and back: arguments, results and payloads one by one, and the
 * request context. What it gives is sent by the rules of `toPlain`, so it may leave to those whatever they know.
 *
 * Each method must give a value of its own or the very one that it was given, and not change that one. What it throws
 * becomes the failure of the call.
 */
export interface Serializer {
  /**
   * Turns an argument, a result or a payload into what travels.
   * @param context The context as the application uses it.
   */
  serializeEntity(context: SerializedContext, entity: unknown): unknown;
  /**
   * Turns what has come into an argument, a result or a payload.
   * @param context What {@link Serializer.deserializeContext} gave.
   */
  deserializeEntity(context: SerializedContext, entity: unknown): unknown;
  /** Must give an object: its members are those of the context on the wire. */
  serializeContext(context: SerializedContext): SerializedContext;
  /** The members of a context that has arrived, as the endpoint gets them. */
  deserializeContext(context: SerializedContext): SerializedContext;
}

/** What every serializer has. */
export const serializerMethods: readonly (keyof Serializer)[] = Object.freeze([
  'serializeEntity',
  'deserializeEntity',
  'serializeContext',
  'deserializeContext',
]);

/** Leaves everything as it is: the default. */
export const noOpSerializer: Serializer = Object.freeze({
  serializeEntity: (_context: SerializedContext, entity: unknown): unknown => entity,
  deserializeEntity: (_context: SerializedContext, entity: unknown): unknown => entity,
  serializeContext: (context: SerializedContext): SerializedContext => context,
  deserializeContext: (context: SerializedContext): SerializedContext => context,
});

/** Instances within instances, as oslo.messaging's serializer of this name follows them. */
const MAX_INSTANCES = 3;

/**
 * Sends instances of classes, which are refused otherwise: each becomes an object of its own enumerable attributes,
 * methods left out, up to three within each other. A class with `toJSON()` still decides for itself. They do not come
 * back as instances.
 */
export class JsonPayloadSerializer implements Serializer {
  /**
   * The value with plain objects in place of instances of classes.
   * @throws SerializationError (`ERR_SERIALIZATION`) with the `path` of what cannot be sent.
   */
  serializeEntity(_context: SerializedContext, entity: unknown): unknown {
    return toPlainWithInstances(entity, MAX_INSTANCES);
  }

  /** Given back as it is. */
  deserializeEntity(_context: SerializedContext, entity: unknown): unknown {
    return entity;
  }

  /** Given back as it is. */
  serializeContext(context: SerializedContext): SerializedContext {
    return context;
  }

  /** Given back as it is. */
  deserializeContext(context: SerializedContext): SerializedContext {
    return context;
  }
}

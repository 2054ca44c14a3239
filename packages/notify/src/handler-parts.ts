import { errorText, type Serializer, type WireMessage } from '@ebbgate/core';
import type { NotificationDispatcher, Turn } from './dispatcher.js';
import { readNotification } from './notification-message.js';
import type { Arrived, RequeuePolicy } from './requeue-policy.js';

/** What handlers of notifications work with. */
export interface HandlerParts {
  readonly dispatcher: NotificationDispatcher;
  readonly policy: RequeuePolicy;
  readonly serializer: Serializer | undefined;
}

/** @throws SerializationError (`ERR_SERIALIZATION`) when it is no notification */
export function arrive(message: WireMessage): Arrived {
  return { incoming: readNotification(message), message };
}

/** What the endpoints see of it, or why nobody can. */
export function turnOf(
  arrived: Arrived,
  { policy, serializer }: HandlerParts,
): Turn | { readonly malformed: string } {
  const { incoming } = arrived;
  const attempts = policy.attemptsAt(arrived);
  if (!serializer) return { incoming, context: incoming.context, payload: incoming.payload, attempts };
  try {
    const context = serializer.deserializeContext(incoming.context);
    const payload = serializer.deserializeEntity(context, incoming.payload);
    return { incoming, context, payload, attempts };
  } catch (error) {
    return { malformed: `Its serializer has failed: ${errorText(error)}` };
  }
}

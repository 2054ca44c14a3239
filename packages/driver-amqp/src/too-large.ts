import { MessageDeliveryError } from '@ebbgate/core';

/** Nothing was sent. */
export function tooLarge(
  bytes: number,
  { maxMessageBytes }: { readonly maxMessageBytes: number },
): MessageDeliveryError {
  return new MessageDeliveryError(
    `The message has ${String(bytes)} bytes; at most ${String(maxMessageBytes)} are sent (max_message_bytes)`,
  );
}

import { MessageDeliveryError, MessagingError } from './errors.js';
import { errorText, redactedCause } from './redact.js';

/**
 * What a driver threw, as one of the documented errors. One that is none of them becomes the cause, redacted, of a
 * MessageDeliveryError (AMQP-20, SEC-04).
 *
 * @param what - what failed, as the beginning of a sentence
 */
export function asDriverFailure(error: unknown, what: string): MessagingError {
  if (error instanceof MessagingError) return error;
  return new MessageDeliveryError(`${what}: ${errorText(error)}`, {
    outcome: 'unknown',
    cause: redactedCause(error),
  });
}

/** What a driver tells of a failure that belongs to no operation: ours as it is, any other redacted. */
export function asTold(error: Error): Error {
  return error instanceof MessagingError ? error : redactedCause(error);
}

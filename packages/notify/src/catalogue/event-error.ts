import { MessagingError, type MessagingErrorOptions, type SchemaIssue } from '@ebbgate/core';

/** At most so many issues are spelt out in the text of an error. */
const ISSUES_IN_TEXT = 5;

/** The payload of an event does not have the form that its catalogue gives (`ERR_EVENT_PAYLOAD`). */
export class EventValidationError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'EventValidationError';
  /** The type of the event. */
  readonly eventType: string;
  /** Each place, and what is wrong with it; never the value. */
  readonly issues: readonly SchemaIssue[];

  constructor(eventType: string, issues: readonly SchemaIssue[], options: MessagingErrorOptions = {}) {
    super(`The payload of ${eventType} is not valid: ${textOf(issues)}`, {
      ...options,
      code: 'ERR_EVENT_PAYLOAD',
    });
    this.eventType = eventType;
    this.issues = Object.freeze([...issues]);
  }
}

function textOf(issues: readonly SchemaIssue[]): string {
  const spelt = issues
    .slice(0, ISSUES_IN_TEXT)
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  const more = issues.length - spelt.length;
  return spelt.join('; ') + (more > 0 ? `; and ${String(more)} more` : '');
}

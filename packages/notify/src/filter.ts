import { ConfigurationError, type PlainValue, refuseUnknown } from '@ebbgate/core';
import type { IncomingNotification } from './notification-message.js';
import { Pattern } from './pattern.js';

/** The rules of a filter: regular expressions (RE2). All that are given must match. */
export interface FilterRules {
  /** Of members of the context. */
  readonly context?: Readonly<Record<string, string>>;
  /** Of the publisher's id. */
  readonly publisherId?: string;
  /** Of the event type. */
  readonly eventType?: string;
  /** Of `message_id` and `timestamp`. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Of members of the payload. */
  readonly payload?: Readonly<Record<string, string>>;
}

const NAMES = ['context', 'publisherId', 'eventType', 'metadata', 'payload'];

type Members = ReadonlyMap<string, Pattern>;

/**
 * Which notifications an endpoint gets. As in oslo.messaging a rule matches at the start of the text; what is missing, or
 * is no text, never matches.
 */
export class NotificationFilter {
  readonly #publisherId: Pattern | undefined;
  readonly #eventType: Pattern | undefined;
  readonly #context: Members;
  readonly #metadata: Members;
  readonly #payload: Members;

  /** @throws ConfigurationError (`ERR_CONFIGURATION`) for an unknown rule, or one that is no regular expression of RE2 */
  constructor(rules: FilterRules) {
    refuseUnknown(rules, NAMES);
    this.#publisherId = optional(rules.publisherId);
    this.#eventType = optional(rules.eventType);
    this.#context = membersOf(rules.context);
    this.#metadata = membersOf(rules.metadata);
    this.#payload = membersOf(rules.payload);
  }

  /** Does the endpoint get it? */
  matches(notification: IncomingNotification): boolean {
    const { publisherId, eventType, context, payload, messageId, timestamp } = notification;
    return (
      isMatch(this.#publisherId, publisherId) &&
      isMatch(this.#eventType, eventType) &&
      areMatches(this.#context, context) &&
      areMatches(this.#metadata, { message_id: messageId, timestamp }) &&
      areMatches(this.#payload, payload)
    );
  }
}

function optional(rule: unknown): Pattern | undefined {
  if (rule === undefined || rule === null) return undefined;
  if (typeof rule === 'string') return new Pattern(rule);
  throw new ConfigurationError(`A rule of a filter must be text, not ${typeof rule}`);
}

function membersOf(rules: Readonly<Record<string, string>> | undefined): Members {
  return new Map(
    Object.entries(rules ?? {}).flatMap(([name, rule]) => {
      const pattern = optional(rule);
      return pattern ? [[name, pattern] as const] : [];
    }),
  );
}

function isMatch(pattern: Pattern | undefined, text: unknown): boolean {
  return pattern === undefined || (typeof text === 'string' && pattern.matchesStart(text));
}

function areMatches(patterns: Members, holder: PlainValue | Readonly<Record<string, unknown>>): boolean {
  for (const [name, pattern] of patterns) {
    const member: unknown =
      typeof holder === 'object' && holder !== null && Object.hasOwn(holder, name)
        ? (holder as Readonly<Record<string, unknown>>)[name] // its own
        : undefined;
    if (!isMatch(pattern, member)) return false;
  }
  return true;
}

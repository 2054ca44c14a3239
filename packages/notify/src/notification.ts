import type { ContextValues, PlainValue } from '@ebbgate/core';
import type { Priority } from './priorities.js';

/** A notification as a notifier sends it: plain data that nobody else holds. */
export interface Notification {
  /** A UUID; the same for all topics and drivers. */
  readonly messageId: string;
  /** Who sends it, like `compute.host1`; null when the notifier has no name. */
  readonly publisherId: string | null;
  /** What has happened, like `compute.instance.create.end`. */
  readonly eventType: string;
  /** By which method it was sent. */
  readonly priority: Priority;
  /** What it says. */
  readonly payload: PlainValue;
  /** When it was made, in UTC: `2026-11-30 18:00:00.000000`. */
  readonly timestamp: string;
  /** Reduced to the allowed members. */
  readonly context: ContextValues;
}

let last = { ms: NaN, text: '' };

/** The time as oslo.messaging writes it: with a space, without a zone, in microseconds. What is sent in one millisecond shares it. */
export function timestampOf(ms: number): string {
  if (ms !== last.ms) last = { ms, text: `${new Date(ms).toISOString().slice(0, 23).replace('T', ' ')}000` };
  return last.text;
}

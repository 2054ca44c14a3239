/** The priorities of notifications, each a method of a notifier and of an endpoint. */
export const EVENT_PRIORITIES = ['audit', 'debug', 'info', 'warn', 'error', 'critical', 'sample'] as const;

/** One of {@link EVENT_PRIORITIES}. */
export type EventPriority = (typeof EVENT_PRIORITIES)[number];

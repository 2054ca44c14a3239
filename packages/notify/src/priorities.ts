/** The priorities, by which endpoints name their methods. */
export const PRIORITIES = ['audit', 'debug', 'info', 'warn', 'error', 'critical', 'sample'] as const;

/** How urgent a notification is, or what it is for. */
export type Priority = (typeof PRIORITIES)[number];

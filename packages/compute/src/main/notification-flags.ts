import { z } from 'zod';
import { NOTIFICATION_TOPIC } from '../notifications/notification-topic.js';
import { STATE_CHANGES, type StateChanges } from '../notifications/notifications.js';
import { PLAIN_NAME, PLAIN_NAME_TEXT } from '../plain-name.js';

const TARGETS = ['none', 'log', 'versioned'] as const;

/** What a daemon is told of notifications. */
export interface NotificationFlags {
  /** Where they go: nowhere, into the log, or to the broker in Nova's versioned form. */
  readonly notifications: (typeof TARGETS)[number];
  readonly notificationTopic: string;
  /** Which changes of an instance's state are told. */
  readonly notifyOnStateChange: StateChanges;
}

/** Their schemas. */
export const notificationShape: {
  readonly notifications: z.ZodDefault<z.ZodType<NotificationFlags['notifications']>>;
  readonly notificationTopic: z.ZodDefault<z.ZodString>;
  readonly notifyOnStateChange: z.ZodDefault<z.ZodType<StateChanges>>;
} = {
  notifications: z.enum(TARGETS, { error: '--notifications must be none, log or versioned' }).default('none'),
  notificationTopic: z
    .string()
    .regex(PLAIN_NAME, { error: `--notification-topic must be ${PLAIN_NAME_TEXT}` })
    .default(NOTIFICATION_TOPIC),
  notifyOnStateChange: z
    .enum(STATE_CHANGES, {
      error: '--notify-on-state-change must be none, vm_state or vm_and_task_state',
    })
    .default('none'),
};

/** Where they go, as upstream. */
export const NOTIFICATION_TOPIC = 'versioned_notifications';

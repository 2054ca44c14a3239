import type { TypedEvents } from '@ebbgate/core';
import type { RecordEvents } from '../db/memory-records.js';
import { type ApiEvent, type Emit, type InstanceEvent, type TaskEvent, toNobody } from './compute-event.js';
import {
  actionNotification,
  askedNotification,
  serviceNotification,
  stateNotification,
  taskNotification,
} from './notification.js';
import { NotificationOutbox, type OutboxOptions } from './notification-outbox.js';

/** Which changes of an instance's state can be told as `instance.update`. */
export const STATE_CHANGES = ['none', 'vm_state', 'vm_and_task_state'] as const;
/** One of {@link STATE_CHANGES}. */
export type StateChanges = (typeof STATE_CHANGES)[number];

/** What a daemon tells to those who listen outside. */
export interface Notifications {
  /** What a host does. */
  ofHost(host: string): Emit<InstanceEvent>;
  /** What an API was asked for. */
  ofApi(name: string): Emit<ApiEvent>;
  /** What a conductor could not do, and what it does to instances between cells. */
  ofConductor(name: string): Emit<InstanceEvent | TaskEvent>;
  /** Changes of services, and of the states of instances, that this process writes. @param writer - its name */
  ofRecords(events: TypedEvents<RecordEvents>, writer: string): void;
  /** Waits for what is on its way, for a moment. Never rejects. */
  settle(): Promise<void>;
}

/** Of daemons that tell nothing: upstream's default, too. */
export const NO_NOTIFICATIONS: Notifications = Object.freeze({
  ofHost: () => toNobody,
  ofApi: () => toNobody,
  ofConductor: () => toNobody,
  ofRecords: () => undefined,
  settle: () => Promise.resolve(),
});

/** How long the end of a process waits for what is on its way. */
const SETTLE_MS = 1_000;

/** In Nova's versioned form. @param stateChanges - default `none`, as upstream */
export function versionedNotifications({
  stateChanges = 'none',
  ...options
}: OutboxOptions & { readonly stateChanges?: StateChanges }): Notifications {
  const outbox = new NotificationOutbox(options);
  return {
    ofHost: (host) => (event) => {
      outbox.put(() => actionNotification(event, host));
    },
    ofApi: (name) => (event) => {
      outbox.put(() => askedNotification(event, name));
    },
    ofConductor: (name) => (event) => {
      outbox.put(() => ('task' in event ? taskNotification(event, name) : actionNotification(event, name)));
    },
    ofRecords: (events, writer) => {
      for (const type of ['service.create', 'service.update', 'service.delete'] as const)
        events.on(type, (told) => outbox.put(() => serviceNotification(told)));
      if (stateChanges === 'none') return;
      events.on('instanceState', (event) => {
        if (event.instance.find('hidden') === true) return; // only a copy, of a move between cells
        const isNews = event.instance.get('vm_state') !== event.before.get('vm_state');
        if (isNews || stateChanges === 'vm_and_task_state')
          outbox.put(() => stateNotification(event, writer));
      });
    },
    settle: () => outbox.settle(SETTLE_MS),
  };
}

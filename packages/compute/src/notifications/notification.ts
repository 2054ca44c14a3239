import { RequestContext } from '@ebbgate/core';
import type { ServiceNotification } from '../servicegroup/service-notifications.js';
import { actionPayload, askedPayload } from './action-payload.js';
import type { ApiEvent, InstanceEvent, StateEvent, TaskEvent } from './compute-event.js';
import { exceptionPayload } from './exception-payload.js';
import { statePayload } from './state-payload.js';
import { versioned, type VersionedPayload } from './versioned-payload.js';

/** One notification, as it goes out. */
export interface Notification {
  /** Of whoever has asked for what is told; the sender cuts it down to what listeners may know. */
  readonly context: RequestContext;
  /** `nova-compute:HOST`, `nova-conductor:NAME`. */
  readonly publisherId: string;
  /** `instance.power_off.start`. */
  readonly eventType: string;
  /** `error` for what has failed. */
  readonly priority: 'info' | 'error';
  /** In Nova's versioned form. */
  readonly payload: VersionedPayload;
}

/** What is done to an instance, told by the host that does it. */
export function actionNotification(event: InstanceEvent, host: string): Notification {
  const { context, action, phase } = event;
  return {
    context,
    publisherId: `nova-compute:${host}`,
    eventType: `instance.${action}.${phase}`,
    priority: phase === 'error' ? 'error' : 'info',
    payload: actionPayload(event),
  };
}

/** What an API was asked for. */
export function askedNotification(event: ApiEvent, api: string): Notification {
  return {
    context: event.context,
    publisherId: `nova-api:${api}`,
    eventType: `instance.${event.action}`,
    priority: 'info',
    payload: askedPayload(event),
  };
}

/** What a conductor could not do: `ComputeTaskPayload` 1.0. What was asked for is not repeated. */
export function taskNotification(event: TaskEvent, conductor: string): Notification {
  const { context, task, instanceUuid, state, error } = event;
  return {
    context,
    publisherId: `nova-conductor:${conductor}`,
    eventType: `compute_task.${task}.error`,
    priority: 'error',
    payload: versioned('ComputeTaskPayload', '1.0', {
      instance_uuid: instanceUuid,
      request_spec: null,
      state,
      reason: exceptionPayload(error),
    }),
  };
}

/** Another state of an instance. @param writer - the name of whoever wrote it, for an instance that is on no host */
export function stateNotification(event: StateEvent, writer: string): Notification {
  return {
    context: new RequestContext(),
    publisherId: `nova-compute:${event.instance.find('host') ?? writer}`,
    eventType: 'instance.update',
    priority: 'info',
    payload: statePayload(event),
  };
}

/** What was changed of a service. */
export function serviceNotification(told: ServiceNotification): Notification {
  return {
    context: new RequestContext(),
    publisherId: told.publisher_id,
    eventType: told.event_type,
    priority: 'info',
    payload: told.payload,
  };
}

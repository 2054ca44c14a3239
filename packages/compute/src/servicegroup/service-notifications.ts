import type { ServiceRecord, ServiceRepository } from '../db/repositories.js';
import { secondsText } from '../objects/seconds-text.js';

/** A service as Nova's versioned notifications tell of it: `ServiceStatusPayload` 1.1. */
export interface ServiceStatusPayload {
  readonly 'nova_object.name': 'ServiceStatusPayload';
  readonly 'nova_object.namespace': 'nova';
  readonly 'nova_object.version': '1.1';
  readonly 'nova_object.data': Readonly<Record<string, string | number | boolean | null>>;
}

/** One notification, as it goes out. */
export interface ServiceNotification {
  readonly priority: 'INFO';
  readonly publisher_id: string;
  readonly event_type: keyof ServiceNotifications;
  readonly payload: ServiceStatusPayload;
}

/** What is told of services. */
export interface ServiceNotifications {
  /** A service has registered for the first time. */
  'service.create': ServiceNotification;
  /** Somebody has said that it is enabled or disabled, why, or whether it is dead: as it was before, or not. */
  'service.update': ServiceNotification;
  /** Its record was deleted. */
  'service.delete': ServiceNotification;
}

/**
 * The same services; whatever changes them by more than a heartbeat is told, once it is written (FD-26). For the process
 * that has the records: each write is told once.
 */
export function tellOfServices(
  services: ServiceRepository,
  emit: (notification: ServiceNotification) => void,
): ServiceRepository {
  const tell = (type: keyof ServiceNotifications, record: ServiceRecord): ServiceRecord => {
    emit(notificationOf(type, record));
    return record;
  };
  return {
    register: async (report) => {
      const record = await services.register(report);
      return record.reportCount === 1 ? tell('service.create', record) : record;
    },
    report: (report) => services.report(report),
    list: (binary) => services.list(binary),
    find: (where) => services.find(where),
    get: (binary, host) => services.get(binary, host),
    update: async (binary, host, changes) => {
      const record = await services.update(binary, host, changes);
      return Object.keys(changes).length > 0 ? tell('service.update', record) : record;
    },
    delete: async (binary, host) => {
      const record = await services.get(binary, host);
      await services.delete(binary, host);
      tell('service.delete', record);
    },
  };
}

function notificationOf(type: keyof ServiceNotifications, service: ServiceRecord): ServiceNotification {
  return {
    priority: 'INFO',
    publisher_id: `nova-${service.binary}:${service.host}`,
    event_type: type,
    payload: {
      'nova_object.name': 'ServiceStatusPayload',
      'nova_object.namespace': 'nova',
      'nova_object.version': '1.1',
      'nova_object.data': {
        host: service.host,
        binary: `nova-${service.binary}`,
        topic: service.topic,
        report_count: service.reportCount,
        disabled: service.disabled,
        disabled_reason: service.disabledReason,
        availability_zone: service.availabilityZone,
        last_seen_up: secondsText(new Date(service.reportedAtMs)),
        forced_down: service.forcedDown,
        version: service.version,
        uuid: service.uuid,
      },
    },
  };
}

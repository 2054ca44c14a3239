import { migrationEvent } from '../../main-job/record-events.js';
import { type Instance, nameOf } from '../../objects/instance.js';
import type { Migration } from '../../objects/migration.js';
import type { Resources } from '../../db/repositories.js';
import type { HostSight } from '../../operator/hosts.js';
import { shortFault } from '../../operator/instance-rows.js';
import type { Sight } from '../../operator/sight.js';
import { type DrainView, drainView } from '../service-view.js';

/** A compute host, as the page for operators has it. */
export interface HostView {
  /** Of its service. */
  readonly id: string;
  readonly host: string;
  /** `up`, `disabled`, `draining`, `down`, `forced down`; `unreachable`: its cell does not answer. */
  readonly state: string;
  readonly zone: string | null;
  readonly disabled: boolean;
  readonly disabled_reason: string | null;
  readonly forced_down: boolean;
  /** Why, as the operator said who did it. */
  readonly forced_down_reason: string | null;
  readonly used: ResourcesView | null;
  readonly total: ResourcesView | null;
  /** When it was heard last, in milliseconds since the epoch; null while it is up. */
  readonly last_report_ms: number | null;
  /** Null while it does not drain. */
  readonly drain: DrainView | null;
}

/** What a host has, or gives. */
export interface ResourcesView {
  readonly vcpus: number;
  readonly memory_mb: number;
  readonly disk_gb: number;
}

/** An instance, as the page has it. */
export interface InstanceView {
  readonly id: string;
  readonly name: string;
  readonly host: string | null;
  readonly vm_state: string;
  readonly task_state: string | null;
  /** Why it is in ERROR, in one line; empty: it is not, or nobody knows. */
  readonly fault: string;
}

/** A move that is under way, or has just ended. */
export interface MigrationView {
  readonly id: string;
  readonly instance: string;
  readonly type: string;
  readonly status: string;
  readonly source: string;
  /** Null: none is chosen yet. */
  readonly dest: string | null;
  /** From 0 to 1; null: it cannot be told. */
  readonly progress: number | null;
}

/** All that the page shows. */
export interface CloudView {
  readonly hosts: readonly HostView[];
  readonly instances: readonly InstanceView[];
  readonly migrations: readonly MigrationView[];
}

/** What of a sight the page shows. */
export function cloudView({ hosts, instances, moves }: Sight): CloudView {
  return {
    hosts: hosts.map((host) => hostView(host, moves)),
    instances: instances.filter((one) => one.get('vm_state') !== 'deleted').map(instanceView),
    migrations: [...moves.values()].map(migrationView),
  };
}

function hostView({ service, state, total, used }: HostSight, moves: Sight['moves']): HostView {
  const isHeard = state !== 'down' && state !== 'forced down';
  return {
    id: service.uuid,
    host: service.host,
    state,
    zone: service.availabilityZone,
    disabled: service.disabled,
    disabled_reason: service.disabledReason,
    forced_down: service.forcedDown,
    forced_down_reason: service.forcedDownNote?.reason ?? null,
    used: used ? resourcesView(used) : null,
    total: total ? resourcesView(total) : null,
    last_report_ms: isHeard ? null : service.reportedAtMs,
    drain: state === 'draining' ? newestDrain(service, moves) : null,
  };
}

/** What the migrations tell of progress is newer than the last report of the host. */
function newestDrain(service: HostSight['service'], moves: Sight['moves']): DrainView | null {
  const { drain } = drainView(service);
  if (!drain) return null;
  const tasks = drain.tasks.map((task) => {
    const move = task.subject === null ? undefined : moves.get(task.subject);
    const progress = move ? migrationView(move).progress : null;
    return progress === null || progress < (task.progress ?? 0) ? task : { ...task, progress };
  });
  return { ...drain, tasks };
}

function resourcesView({ vcpus, memoryMb, diskGb }: Resources): ResourcesView {
  return { vcpus, memory_mb: memoryMb, disk_gb: diskGb };
}

function instanceView(instance: Instance): InstanceView {
  return {
    id: instance.get('uuid'),
    name: nameOf(instance),
    host: instance.find('host') ?? null,
    vm_state: instance.get('vm_state'),
    task_state: instance.get('task_state'),
    fault: shortFault(instance),
  };
}

/** Only what is copied live tells how far it is. */
function migrationView(migration: Migration): MigrationView {
  const { uuid, status, source, dest, progress } = migrationEvent(migration, '');
  const isCopied = migration.get('migration_type') === 'live-migration' && status.startsWith('running');
  return {
    id: uuid,
    instance: migration.get('instance_uuid'),
    type: migration.get('migration_type'),
    status,
    source,
    dest,
    progress: status === 'completed' ? 1 : isCopied ? progress : null,
  };
}

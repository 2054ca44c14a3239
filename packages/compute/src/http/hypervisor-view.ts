import type { CallerContext } from '@ebbgate/rpc';
import type { Liveness } from '../servicegroup/liveness.js';
import type { Hypervisor } from './hypervisors.js';
import { shownId } from './service-view.js';

/** From here on what hosts have is Placement's affair, and how long each has run is shown. */
export const NO_SIZES_MINOR = 88;
const CPU_INFO_OBJECT_MINOR = 28;
const SERVERS_ALWAYS_MINOR = 75;
/** A host that does not answer for longer is shown without what it would have told. */
const PATIENCE_MS = 5_000;

/** The hypervisor in brief; its servers when they are asked for. */
export function briefHypervisor(
  { service, instances }: Hypervisor,
  liveness: Liveness,
  { minor, withServers = false }: { readonly minor: number; readonly withServers?: boolean },
): object {
  const servers = instances.map((one) => ({
    name: one.find('display_name') ?? one.get('uuid'),
    uuid: one.get('uuid'),
  }));
  return {
    id: shownId(service, minor),
    hypervisor_hostname: service.host,
    state: liveness.isUp(service) ? 'up' : 'down',
    status: service.disabled ? 'disabled' : 'enabled',
    ...(withServers && (servers.length > 0 || minor >= SERVERS_ALWAYS_MINOR) && { servers }),
  };
}

/** What is told besides: the records know neither what the hypervisor is nor its address. */
export async function hypervisorDetails(
  hypervisor: Hypervisor,
  context: CallerContext,
  { minor, isUp }: { readonly minor: number; readonly isUp: boolean },
): Promise<object> {
  const { service } = hypervisor;
  return {
    hypervisor_type: null,
    hypervisor_version: null,
    host_ip: null,
    service: {
      id: shownId(service, minor),
      host: service.host,
      disabled_reason: service.disabledReason,
    },
    ...(minor < NO_SIZES_MINOR
      ? { ...sizesOf(hypervisor), cpu_info: minor < CPU_INFO_OBJECT_MINOR ? '' : {} }
      : { uptime: isUp ? await uptimeOf(hypervisor, context).catch(() => null) : null }),
  };
}

/** How long a host has run, as it says itself. Rejects when it does not answer. */
export function uptimeOf({ cell, service }: Hypervisor, context: CallerContext): Promise<string> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  return cell.computeApi.call(context, 'get_host_uptime', service.host, {}, { signal });
}

/** What a host has, and how much of it is taken: by upstream's names. */
export interface Sizes {
  readonly vcpus: number;
  readonly memory_mb: number;
  readonly local_gb: number;
  readonly vcpus_used: number;
  readonly memory_mb_used: number;
  readonly local_gb_used: number;
  readonly free_ram_mb: number;
  readonly free_disk_gb: number;
  /** Instances that something is done to. */
  readonly current_workload: number;
  readonly running_vms: number;
  readonly disk_available_least: number;
}

function sizesOf({ capacity: { total, used }, instances }: Hypervisor): Sizes {
  return {
    vcpus: total.vcpus,
    memory_mb: total.memoryMb,
    local_gb: total.diskGb,
    vcpus_used: used.vcpus,
    memory_mb_used: used.memoryMb,
    local_gb_used: used.diskGb,
    free_ram_mb: total.memoryMb - used.memoryMb,
    free_disk_gb: total.diskGb - used.diskGb,
    current_workload: instances.filter((one) => one.get('task_state') !== null).length,
    running_vms: instances.length,
    disk_available_least: total.diskGb - used.diskGb,
  };
}

/** What all together have. */
export function statisticsOf(hypervisors: readonly Hypervisor[]): Sizes & { readonly count: number } {
  const each = hypervisors.map(sizesOf);
  const sumOf = (name: keyof Sizes): number => each.reduce((sum, one) => sum + one[name], 0);
  return {
    count: hypervisors.length,
    vcpus: sumOf('vcpus'),
    memory_mb: sumOf('memory_mb'),
    local_gb: sumOf('local_gb'),
    vcpus_used: sumOf('vcpus_used'),
    memory_mb_used: sumOf('memory_mb_used'),
    local_gb_used: sumOf('local_gb_used'),
    free_ram_mb: sumOf('free_ram_mb'),
    free_disk_gb: sumOf('free_disk_gb'),
    current_workload: sumOf('current_workload'),
    running_vms: sumOf('running_vms'),
    disk_available_least: sumOf('disk_available_least'),
  };
}

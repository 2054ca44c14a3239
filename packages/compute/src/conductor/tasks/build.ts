import type { RequestContext } from '@ebbgate/core';
import { ValidationError } from '@ebbgate/rpc';
import { NoValidHostError } from '../../errors.js';
import { BlockDeviceMappingList } from '../../objects/block-device.js';
import { faultOf } from '../../objects/instance-fault.js';
import type { Instance } from '../../objects/instance.js';
import { RequestSpec } from '../../objects/request-spec.js';
import type { TaskState } from '../../objects/states.js';
import type { ConductorMethods } from '../../rpc/conductor-methods.js';
import type { Dictionary } from '../../rpc/kinds.js';
import type { ArgsOf, ComputeMethods } from '../../rpc/methods.js';
import {
  buildAttempts,
  firstAttempt,
  MAX_BUILD_ATTEMPTS,
  nextAttempt,
} from '../../scheduler/build-attempts.js';
import type { Selection } from '../../scheduler/scheduler.js';
import type { ConductorContext } from '../conductor-context.js';
import { hostListOf, nextHost } from '../next-host.js';

type FirstArgs = ArgsOf<ConductorMethods['schedule_and_build_instances']>;
type AgainArgs = ArgsOf<ConductorMethods['build_instances']>;
/** What a host is told besides where it is in the list, whichever attempt it is. */
type Wishes = Pick<
  ArgsOf<ComputeMethods['build_and_run_instance']>,
  | 'instance'
  | 'image'
  | 'request_spec'
  | 'admin_password'
  | 'injected_files'
  | 'requested_networks'
  | 'security_groups'
  | 'block_device_mapping'
>;

/**
 * Finds a host for each instance, and others in case it fails, and hands it over (`compute-rpc.md` 3.7). One that finds
 * none ends in ERROR, with nothing claimed; the others are built all the same.
 */
export async function scheduleAndBuild(
  conductor: ConductorContext,
  context: RequestContext,
  args: FirstArgs,
): Promise<void> {
  for (const [index, instance] of args.build_requests.entries()) {
    if (conductor.isAgain === true && !(await stillUnbegun(conductor, instance.get('uuid')))) continue;
    await orError(conductor, context, instance, async () => {
      const spec = specAt(args, index);
      const chosen = await conductor.scheduler.selectDestinations(context, spec, [instance.get('uuid')], {
        alternates: MAX_BUILD_ATTEMPTS - 1,
      });
      const [selection, ...alternates] = chosen[0] ?? [];
      if (!selection) throw new NoValidHostError('The scheduler named no host');
      const filterProperties = firstAttempt(spec, selection);
      const wishes = wishesAt(args, instance, spec, index);
      await hand(conductor, context, wishes, { selection, alternates, filterProperties });
    });
  }
}

/**
 * A host could not build it: the next of its list is tried, if it is still right by all filters and its claim succeeds.
 * After the last one, or the last attempt, the instance ends in ERROR. Nothing is left claimed on the host that failed.
 */
export async function buildAgain(
  conductor: ConductorContext,
  context: RequestContext,
  args: AgainArgs,
): Promise<void> {
  for (const [index, sent] of args.instances.entries()) {
    const uuid = sent.get('uuid');
    const instance = await fromItsHost(conductor, sent);
    if (!instance) continue;
    await orError(conductor, context, instance, async () => {
      const spec = args.request_spec ?? specOf(instance);
      const { number, tried } = buildAttempts(args.filter_properties);
      const failed = new Set([...tried, ...hostsIn(sent)]); // a host that was chosen since has the request, or is to get it
      for (const host of failed) await conductor.records.allocations.release(uuid, host);
      if (number >= MAX_BUILD_ATTEMPTS) {
        throw new NoValidHostError(`Instance ${uuid} has failed on ${number} hosts: ${tried.join(', ')}`);
      }
      const hostList: unknown = args.host_lists?.[index];
      const [selection, ...alternates] = Array.isArray(hostList)
        ? await nextHost(conductor, context, spec, uuid, hostList)
        : await anyBut(conductor, context, spec, uuid, tried);
      if (!selection) throw new NoValidHostError(`No host is left to try for instance ${uuid}`);
      const filterProperties = nextAttempt(args.filter_properties, selection);
      const wishes = { ...args, instance, request_spec: spec };
      await hand(conductor, context, wishes, { selection, alternates, filterProperties });
    });
  }
}

/** What hosts are at while they build, or say that it is to be done again. */
const BUILD_TASKS: readonly TaskState[] = [
  null,
  'networking',
  'block_device_mapping',
  'spawning',
  'scheduling',
];

/**
 * Takes a build from the host that it has failed on: the instance is as before it came there. Undefined when it is not to be
 * built any more, or another conductor has taken it. Nova's hosts have written that themselves before they ask.
 */
async function fromItsHost(conductor: ConductorContext, sent: Instance): Promise<Instance | undefined> {
  const { records, logger, isAgain } = conductor;
  const uuid = sent.get('uuid');
  const host = sent.find('host') ?? null;
  const task_state = host === null ? (['scheduling'] as const) : BUILD_TASKS;
  const nowhere = { host: null, node: null, launched_on: null, task_state: 'scheduling' } as const;
  try {
    const expected = { vm_state: ['building'], task_state, host: [host] } as const;
    return await records.instances.update(uuid, nowhere, expected);
  } catch (error) {
    const unbegun = isAgain === true ? await stillUnbegun(conductor, uuid) : undefined;
    if (unbegun) return unbegun;
    logger.warn({ err: error, instance: uuid }, 'A build that has failed is not tried again');
    return undefined;
  }
}

/** As it is, when no host has begun with it. */
async function stillUnbegun({ records }: ConductorContext, uuid: string): Promise<Instance | undefined> {
  const instance = await records.instances.get(uuid);
  const isWanted = instance.get('vm_state') === 'building' && instance.get('task_state') === 'scheduling';
  return isWanted && (instance.find('host') ?? null) === null ? instance : undefined;
}

function hostsIn(instance: Instance): readonly string[] {
  const host = instance.find('host') ?? null;
  return host === null ? [] : [host];
}

interface Handing {
  readonly selection: Selection;
  readonly alternates: readonly Selection[];
  readonly filterProperties: Dictionary;
}

async function hand(
  conductor: ConductorContext,
  context: RequestContext,
  wishes: Wishes,
  { selection, alternates, filterProperties }: Handing,
): Promise<void> {
  await conductor.computeApi.cast(context, 'build_and_run_instance', selection.host, {
    instance: wishes.instance,
    image: wishes.image,
    request_spec: wishes.request_spec,
    filter_properties: filterProperties,
    admin_password: wishes.admin_password,
    injected_files: wishes.injected_files,
    requested_networks: wishes.requested_networks,
    security_groups: wishes.security_groups,
    block_device_mapping: wishes.block_device_mapping,
    node: selection.node,
    limits: {},
    host_list: await hostListOf(conductor, alternates),
    accel_uuids: [],
  });
}

/** Runs one attempt; when it fails, nothing of it is claimed, and the instance is in ERROR unless it is not ours any more. */
async function orError(
  { records, logger, emit }: ConductorContext,
  context: RequestContext,
  instance: Instance,
  attempt: () => Promise<void>,
): Promise<void> {
  const uuid = instance.get('uuid');
  try {
    await attempt();
  } catch (error) {
    logger.error({ err: error, instance: uuid }, 'An instance could not be handed to a host');
    try {
      await records.instances.update(
        uuid,
        { vm_state: 'error', task_state: null, fault: faultOf(error, null) },
        { vm_state: ['building'], task_state: ['scheduling'] },
      );
      const state = 'error';
      emit({ context, task: 'build_instances', instanceUuid: uuid, state, error });
      await records.allocations.release(uuid);
    } catch (failure) {
      logger.error({ err: failure, instance: uuid }, 'An instance that was not handed over is not in ERROR');
    }
  }
}

/** Whoever sent it has kept no list: all hosts are looked at but those that have failed. */
async function anyBut(
  { scheduler }: ConductorContext,
  context: RequestContext,
  spec: RequestSpec,
  uuid: string,
  tried: readonly string[],
): Promise<readonly Selection[]> {
  const [list = []] = await scheduler.selectDestinations(context, spec, [uuid], { ignoreHosts: tried });
  return list;
}

function specAt(args: FirstArgs, index: number): RequestSpec {
  const spec: unknown = args.request_specs[index];
  if (RequestSpec.is(spec)) return spec;
  throw new ValidationError('schedule_and_build_instances', [
    { path: `request_specs[${index}]`, message: 'must be RequestSpec' },
  ]);
}

function specOf(instance: Instance): RequestSpec {
  return RequestSpec.create({ instance_uuid: instance.get('uuid'), flavor: instance.get('flavor') });
}

function wishesAt(args: FirstArgs, instance: Instance, spec: RequestSpec, index: number): Wishes {
  const blockDevices: unknown = args.block_device_mapping[index];
  return {
    instance,
    image: args.image,
    request_spec: spec,
    admin_password: args.admin_password,
    injected_files: args.injected_files,
    requested_networks: args.requested_networks,
    security_groups: [],
    block_device_mapping: BlockDeviceMappingList.is(blockDevices) ? blockDevices : null,
  };
}

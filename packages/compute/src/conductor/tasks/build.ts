import type { RequestContext } from '@ebbgate/core';
import { ValidationError } from '@ebbgate/rpc';
import { BlockDeviceMappingList } from '../../objects/block-device.js';
import type { Instance } from '../../objects/instance.js';
import { RequestSpec } from '../../objects/request-spec.js';
import type { ConductorMethods } from '../../rpc/conductor-methods.js';
import type { ArgsOf } from '../../rpc/methods.js';
import type { ConductorContext } from '../conductor-context.js';
import { chooseHosts } from '../host-choice.js';

type Args = ArgsOf<ConductorMethods['schedule_and_build_instances']>;

/** Finds a host for each instance and hands it over (`compute-rpc.md` 3.7). One that finds none ends in ERROR. */
export async function scheduleAndBuild(
  conductor: ConductorContext,
  context: RequestContext,
  args: Args,
): Promise<void> {
  for (const [index, instance] of args.build_requests.entries()) {
    try {
      await buildOne(conductor, context, args, instance, index);
    } catch (error) {
      const uuid = instance.get('uuid');
      conductor.logger.error({ err: error, instance: uuid }, 'An instance could not be handed to a host');
      const failed = { vm_state: 'error', task_state: null } as const;
      await conductor.records.instances.update(uuid, failed, {
        vm_state: ['building'],
        task_state: ['scheduling'],
      });
    }
  }
}

async function buildOne(
  { records, computeApi }: ConductorContext,
  context: RequestContext,
  args: Args,
  instance: Instance,
  index: number,
): Promise<void> {
  const requestSpec: unknown = args.request_specs[index];
  if (!RequestSpec.is(requestSpec)) {
    throw new ValidationError('schedule_and_build_instances', [
      { path: `request_specs[${index}]`, message: 'must be RequestSpec' },
    ]);
  }
  const blockDevices: unknown = args.block_device_mapping[index];
  const wishes = {
    forced: requestSpec.find('force_hosts') ?? [],
    excluded: requestSpec.find('ignore_hosts') ?? [],
  };
  const [host = '', ...alternates] = await chooseHosts(records, wishes);
  await computeApi.cast(context, 'build_and_run_instance', host, {
    instance,
    image: args.image,
    request_spec: requestSpec,
    filter_properties: { retry: { num_attempts: 1, hosts: [[host, host]] }, limits: {} },
    admin_password: args.admin_password,
    injected_files: args.injected_files,
    requested_networks: args.requested_networks,
    security_groups: [],
    block_device_mapping: BlockDeviceMappingList.is(blockDevices) ? blockDevices : null,
    node: host,
    limits: {},
    host_list: alternates,
    accel_uuids: [],
  });
}

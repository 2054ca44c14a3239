import type { RequestContext } from '@ebbgate/core';
import { UnexpectedStateError } from '../../errors.js';
import { faultOf } from '../../objects/instance-fault.js';
import type { Instance } from '../../objects/instance.js';
import { RequestSpec } from '../../objects/request-spec.js';
import { shelvedImage } from '../../objects/shelved-notes.js';
import type { ConductorMethods } from '../../rpc/conductor-methods.js';
import type { ArgsOf } from '../../rpc/methods.js';
import type { ConductorContext } from '../conductor-context.js';
import { UndoStack } from '../undo-stack.js';

type Args = ArgsOf<ConductorMethods['unshelve_instance']>;

/**
 * Brings a shelved instance back: one that is still on its host is started there, one that has left goes to a host that is
 * chosen now. When that cannot be done it stays shelved, and nothing stays claimed.
 */
export async function unshelve(
  conductor: ConductorContext,
  context: RequestContext,
  args: Args,
): Promise<void> {
  const { records, logger } = conductor;
  const uuid = args.instance.get('uuid');
  const undo = new UndoStack(logger);
  try {
    const instance = await records.instances.get(uuid);
    if (conductor.isAgain === true && !isOpen(instance)) return;
    if (instance.get('vm_state') === 'shelved') await startWhereItIs(conductor, context, instance);
    else await sendToHost(conductor, context, instance, args.request_spec, undo);
  } catch (error) {
    logger.error({ err: error, instance: uuid }, 'An instance could not be unshelved');
    undo.addFirst('the task of the instance', () =>
      records.instances.update(
        uuid,
        { task_state: null, fault: faultOf(error, null) },
        { task_state: ['unshelving', 'powering-on'] },
      ),
    );
    await undo.undo();
  }
}

/** Of one that an earlier run was cut off in: has no host begun with it? */
function isOpen(instance: Instance): boolean {
  const task = instance.get('task_state');
  return task === 'unshelving' || (task === 'powering-on' && instance.get('vm_state') === 'shelved');
}

async function startWhereItIs(
  { records, computeApi }: ConductorContext,
  context: RequestContext,
  shelved: Instance,
): Promise<void> {
  const host = shelved.get('host');
  if (host === null) throw new UnexpectedStateError('The instance is on no host');
  const instance = await records.instances.update(
    shelved.get('uuid'),
    { task_state: 'powering-on' },
    { task_state: ['unshelving', 'powering-on'], host: [host] },
  );
  await computeApi.cast(context, 'start_instance', host, { instance });
}

async function sendToHost(
  { records, scheduler, computeApi }: ConductorContext,
  context: RequestContext,
  instance: Instance,
  ordered: RequestSpec | null,
  undo: UndoStack,
): Promise<void> {
  const uuid = instance.get('uuid');
  if (instance.get('vm_state') !== 'shelved_offloaded' || instance.get('task_state') !== 'unshelving') {
    throw new UnexpectedStateError('The instance is not to be unshelved');
  }
  const image = shelvedImage(instance) ?? null;
  const spec = specFor(instance, ordered, image);
  undo.add('what is claimed for the instance', () => records.allocations.release(uuid));
  const [[selection] = []] = await scheduler.selectDestinations(context, spec, [uuid]);
  if (!selection) throw new UnexpectedStateError('The scheduler named no host');
  await computeApi.cast(context, 'unshelve_instance', selection.host, {
    instance,
    image: image === null ? null : { id: image },
    filter_properties: { limits: {} },
    node: selection.node,
    request_spec: spec,
    accel_uuids: [],
  });
}

/** What it was ordered with; a host that was forced then is not any more, one that is asked for now is. */
function specFor(instance: Instance, ordered: RequestSpec | null, image: string | null): RequestSpec {
  const spec =
    ordered?.clone() ??
    RequestSpec.create({
      instance_uuid: instance.get('uuid'),
      project_id: instance.find('project_id') ?? '',
      flavor: instance.get('flavor'),
    });
  return spec.update({ force_hosts: null, is_bfv: image === null });
}

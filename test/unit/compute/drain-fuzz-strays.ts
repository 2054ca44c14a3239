import { RpcClient } from '@ebbgate/rpc';
import {
  BlockDeviceMappingList,
  BlockDeviceMapping,
  InstanceExternalEvent,
  type Instance,
  LibvirtLiveMigrateData,
  type MethodRow,
  Migration,
  NetworkRequestList,
  RequestSpec,
} from '@ebbgate/compute';
import { computeMethods } from '#compute/rpc/methods.js';
import { objectSerializer } from '#compute/rpc/object-serializer.js';
import { remoteErrors } from '#compute/rpc/remote-errors.js';
import { isTyped, PATIENCE_MS, type Watching } from './drain-fuzz-users.js';
import { DEST, SOURCE, type TestCloud } from './test-cloud.js';

const METHODS = [...computeMethods];

/**
 * Sends single requests, each of any method of the table, on either topic, about an instance to which nobody does anything:
 * those that look are answered; those that belong to no operation that is under way find that out, and change nothing.
 */
export async function sendStrays(
  test: TestCloud,
  instance: Instance,
  count: number,
  watching: Pick<Watching, 'random' | 'context' | 'onProblem'>,
): Promise<void> {
  const waiting: Promise<void>[] = [];
  for (let sent = 0; sent < count; sent += 1) {
    // Each method once, then any.
    const [method, row] =
      METHODS[sent < METHODS.length ? sent : Math.floor(watching.random() * METHODS.length)] ?? [];
    if (!method || !row) continue;
    const topic = watching.random() < 0.5 ? 'compute' : 'compute-ops';
    const server = watching.random() < 0.5 ? SOURCE : DEST;
    const what = `${row.kind === 'cast' ? 'cast' : 'call'} ${method} @ ${topic}.${server}`;
    waiting.push(
      send(
        test,
        { topic, server, version: row.version },
        method,
        row,
        argsOf(row, instance),
        watching.context(what),
      ).catch((error: unknown) => {
        if (!isTyped(error)) watching.onProblem(`${what} has failed: ${String(error)}`);
      }),
    );
    await new Promise((resolve) => setTimeout(resolve, watching.random() * 4));
  }
  await Promise.all(waiting);
}

async function send(
  { cloud }: TestCloud,
  target: { readonly topic: string; readonly server: string; readonly version: string },
  method: string,
  row: MethodRow,
  args: object,
  context: ReturnType<Watching['context']>,
): Promise<void> {
  const options = { serializer: objectSerializer, remoteErrors, timeoutMs: PATIENCE_MS };
  const client = new RpcClient(cloud.computeApi.transport, target, options);
  if (row.kind === 'cast') await client.cast(context, method, args);
  else await client.call(context, method, args);
}

function argsOf(row: MethodRow, instance: Instance): object {
  const uuid = instance.get('uuid');
  const hosts = { source_compute: SOURCE, dest_compute: DEST, source_node: SOURCE, dest_node: DEST };
  const over = {
    uuid: 'd0d0d0d0-0000-4000-8000-000000000000',
    id: 4711,
    instance_uuid: uuid,
    status: 'error',
  } as const;
  const values: ReadonlyMap<string, unknown> = new Map<string, unknown>([
    ['string', DEST],
    ['number', 4711],
    ['boolean', true],
    ['dict', {}],
    ['list', []],
    ['any', null],
    ['object', BlockDeviceMapping.create({ instance_uuid: uuid, volume_id: 'v', device_name: '/dev/vdz' })],
    ['Instance', instance],
    ['Instances', [instance]],
    [
      'Events',
      [
        InstanceExternalEvent.create({
          instance_uuid: uuid,
          name: 'network-vif-plugged',
          status: 'completed',
          tag: 't',
        }),
      ],
    ],
    ['Migration', Migration.create({ ...over, ...hosts, migration_type: 'migration' })],
    ['Flavor', instance.get('flavor')],
    ['RequestSpec', RequestSpec.create({ instance_uuid: uuid, flavor: instance.get('flavor') })],
    ['MigrateData', LibvirtLiveMigrateData.create({})],
    ['BlockDevices', BlockDeviceMappingList.create({ objects: [] })],
    ['NetworkRequests', NetworkRequestList.create({ objects: [] })],
  ]);
  const args = Object.entries(row.args).map(([name, kind]) => [
    name,
    values.get(kind.replace('?', '')) ?? null,
  ]);
  // No evacuation: one that comes to a host that drains goes back to the conductor.
  return { ...(Object.fromEntries(args) as object), ...('recreate' in row.args && { recreate: false }) };
}

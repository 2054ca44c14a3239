import { randomUUID } from 'node:crypto';
import { encodeObjects, Instance } from '@ebbgate/compute';
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { flavorById } from '#compute/api/flavors.js';
import type { HttpBed } from './http-bed.js';
import { withHttp } from './http-bed.js';
import { type Hostile, type Operation, operationsOf, requestsFor } from './http-fuzz-words.js';

/** Some of all that there can be. Resolves with the ids. */
async function populate(bed: HttpBed): Promise<readonly string[]> {
  const { instances, allocations } = bed.records;
  const services = [await bed.service('h1'), await bed.service('h2')];
  services.push(await bed.service('h2', { binary: 'conductor' }));
  await bed.host('h1');
  const uuids: string[] = [];
  for (const task_state of [null, 'migrating'] as const) {
    const uuid = randomUUID();
    uuids.push(uuid);
    await instances.create(
      Instance.create({
        ...{ uuid, display_name: 'vm1', hostname: 'vm1', image_ref: 'i1', key_name: null, progress: 0 },
        ...{ vm_state: 'active', task_state, power_state: 1, host: 'h1', node: 'h1', deleted: false },
        ...{ user_id: 'ann', project_id: 'p1', metadata: {}, system_metadata: {} },
        ...(task_state === null && { availability_zone: null, launched_at: new Date(0) }),
        flavor: flavorById('1'),
      }),
    );
    await bed.migration({
      ...{
        instance_uuid: uuid,
        source_compute: 'h1',
        source_node: 'h1',
        dest_compute: 'h2',
        dest_node: 'h2',
      },
      ...{ migration_type: 'live-migration', status: task_state === null ? 'completed' : 'running' },
    });
  }
  await allocations.report('h1', { vcpus: 8, memoryMb: 8192, diskGb: 100 });
  return [...services, ...uuids];
}

async function stateOf({ records }: HttpBed): Promise<string> {
  const { services, instances, migrations, allocations } = records;
  const all = [
    await services.find({}),
    await instances.find({}),
    await instances.find({ deleted: true }),
    await migrations.find({}),
    await allocations.find({}),
  ];
  // What was taken back has been written twice.
  return JSON.stringify(encodeObjects(all)).replaceAll(/,"updated_at":[^,}]*/g, '');
}

async function asked(bed: HttpBed, operations: readonly Operation[], hostile: Hostile): Promise<void> {
  const { method, path, query, headers, body } = hostile;
  const before = await stateOf(bed);
  const { status, body: answer } = await bed.send(method, `${path}${query}`, { headers, body });
  await bed.tasks.whenIdle(); // what it has begun is no change by the next one
  expect(status).to.be.within(200, 503).and.not.equal(500);
  const described = operations.find((one) => fits(one.path, path))?.path;
  const operation = operations.find((one) => one.method === method && one.path === described);
  if (operation) expect(operation.statuses).to.include(status);
  if (status < 400) {
    const hasBody = Object.keys(answer).length > 0;
    const schema = operation?.answers.get(status);
    if (schema && hasBody) expect(schema.safeParse(answer).error).to.equal(undefined);
    return;
  }
  expect(await stateOf(bed)).to.equal(before);
  const [fault] = Object.values(answer) as readonly { code: number; message: string }[];
  expect(fault?.code).to.equal(status);
  expect(fault?.message)
    .to.be.a('string')
    .and.not.match(/ at .*\.js/);
}

/** Is it a request for the path of an operation? Those without parameters go first in the description. */
function fits(described: string, path: string): boolean {
  const pattern = described.replaceAll(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^/v2\\.1(?:/(?:p1|__proto__|%00))?${pattern}$`).test(path);
}

describe('compute: contract of the HTTP API', () => {
  it('never answers 500 to random and hostile requests, answers as described, and changes nothing on an error (HTTP-03, SEC-06)', () =>
    withHttp(
      async (bed) => {
        const ids = await populate(bed);
        const operations = await operationsOf(bed);
        await fc.assert(
          fc.asyncProperty(requestsFor(operations, ids), (hostile) => asked(bed, operations, hostile)),
          { numRuns: Number(process.env['STRESS'] ?? 1) * 300 },
        );
        expect(({} as Record<string, unknown>)['host']).to.equal(undefined);
      },
      { rateLimit: 0, evacuationLookMs: 1 },
    )).timeout(20_000);

  it('has a server as it was when its delete cannot be sent, whatever is done to it (HTTP-03)', () =>
    withHttp(async (bed) => {
      const uuid = (await populate(bed)).at(-1) ?? '';
      const { instances, services } = bed.records;
      await instances.update(uuid, { progress: 40 });
      await services.update('compute', 'h1', { forcedDown: true }); // so its network is to be freed here
      const before = await stateOf(bed);
      expect((await bed.send('DELETE', `/v2.1/servers/${uuid}`)).status).to.equal(503);
      expect(await stateOf(bed))
        .to.equal(before)
        .and.contain('"progress":40');
    }));
});

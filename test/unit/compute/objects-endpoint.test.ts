import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RpcClient } from '@ebbgate/rpc';
import { decodeObjects, Instance, Migration, NovaObject } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { backport } from '#compute/objects/backport.js';
import { objectSerializer } from '#compute/rpc/object-serializer.js';
import { remoteErrors } from '#compute/rpc/remote-errors.js';
import { codeOf, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

/** As Nova's computes ask: in no namespace. */
function clientOf(test: TestCloud): RpcClient {
  const target = { topic: 'conductor', version: '3.0' };
  return new RpcClient(test.cloud.computeApi.transport, target, {
    serializer: objectSerializer,
    remoteErrors,
  });
}

function ask(test: TestCloud, object: NovaObject, objmethod: string, kwargs: object = {}): Promise<unknown> {
  const objinst = object;
  return clientOf(test).call({}, 'object_action', { objinst, objmethod, args: [], kwargs });
}

const manifest = (versions: object): ReadonlyMap<string, string> => new Map(Object.entries(versions));

describe('an object that is made older', () => {
  const flavor = new NovaObject({ name: 'Flavor', namespace: 'nova', version: '1.2' }, [
    ['name', 'm1'],
    ['description', null],
  ]);
  const instance = new NovaObject(
    { name: 'Instance', namespace: 'nova', version: '2.8' },
    [
      ['uuid', 'u'],
      ['compute_id', 1],
      ['hidden', false],
      ['flavor', flavor],
    ],
    ['compute_id', 'hidden'],
  );

  it('loses what came later, and so do the objects in it, which keep their own versions otherwise', () => {
    const made = backport(instance, manifest({ Instance: '2.7' }));
    expect(made.identity.version).to.equal('2.7');
    expect([...made.entries()].map(([name]) => name)).to.deep.equal(['uuid', 'hidden', 'flavor']);
    expect(made.changes).to.deep.equal(['hidden']);
    expect((made.get('flavor') as NovaObject).identity.version).to.equal('1.2');
    const older = backport(instance, manifest({ Instance: '2.5', Flavor: '1.1' }));
    expect([...older.entries()].map(([name]) => name)).to.deep.equal(['uuid', 'flavor']);
    const inner = older.get('flavor') as NovaObject;
    expect(inner.identity.version).to.equal('1.1');
    expect(inner.has('description')).to.equal(false);
  });

  it('stays what it is when it is not newer, and is refused for another major', () => {
    expect(backport(instance, manifest({ Instance: '2.9' })).identity.version).to.equal('2.8');
    for (const version of ['1.0', 'x', '']) {
      expect(() => backport(instance, manifest({ Instance: version })))
        .to.throw()
        .with.property('code', 'ERR_OBJECT');
    }
  });

  it('is what Nova’s own objects are, as recorded', () => {
    const file = join(process.cwd(), 'packages/compute/fixtures/nova/v26-resize_instance.json');
    const recorded: unknown = decodeObjects(JSON.parse(readFileSync(file, 'utf8')));
    const found: NovaObject[] = [];
    const walk = (value: unknown): void => {
      if (value instanceof NovaObject)
        found.push(value as NovaObject); // of whatever kind
      else if (Array.isArray(value)) value.forEach(walk);
      else if (typeof value === 'object' && value !== null) Object.values(value).forEach(walk);
    };
    walk(recorded);
    const spec = found.find(({ identity }) => identity.name === 'Migration');
    if (!spec) throw new TypeError('it was recorded');
    expect(spec.has('user_id')).to.equal(true);
    const made = backport(spec, manifest({ Migration: '1.6' }));
    expect(made.has('user_id')).to.equal(false);
    expect(made.has('cross_cell_move')).to.equal(spec.has('cross_cell_move'));
  });
});

describe('a conductor that a host of Nova’s asks', () => {
  it('makes an object older', () =>
    withCloud({}, async (test) => {
      const objinst = Migration.create({ uuid: 'u', user_id: 'me', status: 'running' });
      const made: unknown = await clientOf(test).call({}, 'object_backport_versions', {
        objinst,
        object_versions: { Migration: '1.6' },
      });
      expect(Migration.is(made) && made.identity.version).to.equal('1.6');
      expect(Migration.is(made) && made.has('user_id')).to.equal(false);
    }));

  it('saves an instance when it is in the state that is expected, and tells what else is different now', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const { instances } = test.cloud.records;
      const object = (await instances.get(uuid)).pristine().update({ task_state: 'rebooting' });
      await instances.update(uuid, { progress: 7 });
      const [updates] = (await ask(test, object, 'save', {
        expected_task_state: [null],
      })) as [Record<string, unknown>];
      expect(updates).to.deep.include({ progress: 7, obj_what_changed: [] });
      expect(updates).to.not.have.property('vm_state');
      expect(await test.stateOf(uuid)).to.equal(`active/rebooting@${SOURCE}`);
      const again = ask(test, object, 'save', {
        expected_task_state: null,
        expected_vm_state: 'error',
      });
      expect(await codeOf(again)).to.equal('ERR_UNEXPECTED_STATE');
      await instances.update(uuid, { task_state: null });
    }));

  it('finds instances and migrations, in the versions that the host knows', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const find = (
        objname: string,
        objmethod: string,
        args: unknown[],
        versions: object,
      ): Promise<unknown> =>
        clientOf(test).call({}, 'object_class_action_versions', {
          objname,
          objmethod,
          object_versions: versions,
          args,
          kwargs: {},
        });
      const one: unknown = await find('Instance', 'get_by_uuid', [uuid], { Instance: '2.5', Flavor: '1.1' });
      expect(Instance.is(one) && [one.get('uuid'), one.identity.version]).to.deep.equal([uuid, '2.5']);
      expect(Instance.is(one) && one.get('flavor').identity.version).to.equal('1.1');
      const list = (await find('InstanceList', 'get_by_host', [SOURCE], {
        InstanceList: '2.6',
      })) as NovaObject;
      expect((list.get('objects') as Instance[]).map((each) => each.get('uuid'))).to.deep.equal([uuid]);
      expect(await codeOf(find('Migration', 'get_by_id', [77], { Migration: '1.7' }))).to.equal(
        'ERR_NOT_FOUND',
      );
    }));

  it('refuses what there are no records of', () =>
    withCloud({}, async (test) => {
      const object = new NovaObject({ name: 'PciDevice', namespace: 'nova', version: '1.6' }, [
        ['uuid', 'u'],
      ]);
      for (const method of ['save', '__proto__', 'constructor']) {
        const error: unknown = await ask(test, object, method).catch((thrown: unknown) => thrown);
        expect(String(error)).to.match(/objmethod.*must be one of Instance\.save/);
      }
    }));
});

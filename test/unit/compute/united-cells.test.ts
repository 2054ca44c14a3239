import { Liveness } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { UnitedRecords } from '#compute/cells/united-records.js';
import { findInstance } from '#compute/operator/named.js';
import { Lookout } from '#compute/operator/sight.js';
import { codeOf, DEST, SOURCE, type TestCloud } from './test-cloud.js';
import { FIRST_CELL, SECOND_CELL, type TwoCells, withTwoCells } from './two-cells.js';

function united({ first, second, registry }: TwoCells): UnitedRecords {
  const cells = [
    { name: FIRST_CELL, records: first.cloud.records },
    { name: SECOND_CELL, records: second.cloud.records },
  ];
  return new UnitedRecords(cells, registry.mappings);
}

/** From now on, at each change of a record, how many instances and migrations there are to be seen. */
function counted({ first, second }: TwoCells, records: UnitedRecords): readonly Promise<readonly number[]>[] {
  const counts: Promise<readonly number[]>[] = [];
  const look = async (): Promise<readonly number[]> => {
    const found = await Promise.all([records.instances.find({}), records.migrations.find({})]);
    return found.map(({ length }) => length);
  };
  for (const { cloud } of [first, second]) {
    cloud.records.events.on('instance', () => counts.push(look()));
    cloud.records.events.on('migration', () => counts.push(look()));
  }
  return counts;
}

/** `vm/task@host` of all that an operator sees who has only this cell. */
async function listed({ cloud }: TestCloud): Promise<readonly string[]> {
  const { instances } = await new Lookout({ records: cloud.records, liveness: new Liveness() }).look();
  return instances.map((one) => `${one.get('vm_state')}/${one.get('task_state') ?? '-'}@${one.find('host')}`);
}

describe('cells as operators see them', () => {
  for (const end of ['confirm', 'revert'] as const) {
    it(`show an instance once at each moment, while it moves and its move is ended (${end})`, () =>
      withTwoCells({}, async (cells) => {
        const uuid = await cells.first.bootActive(SOURCE);
        const records = united(cells);
        const counts = counted(cells, records);
        await cells.resize(uuid);
        await cells.moved(uuid);
        expect((await records.instances.get(uuid)).get('host')).to.equal(DEST);
        expect(await records.cellOf(uuid)).to.equal(SECOND_CELL);
        await cells[end](uuid);
        const test = end === 'confirm' ? cells.second : cells.first;
        await test.becomes(uuid, 'active/-');
        await cells.settled();
        const seen = await Promise.all(counts);
        expect(seen.length).to.be.greaterThan(20);
        // The first change is that of the instance, before there is a migration.
        expect([...new Set(seen.map(String))].sort()).to.deep.equal(['1,0', '1,1']);
        const [host, cell] = end === 'confirm' ? [DEST, SECOND_CELL] : [SOURCE, FIRST_CELL];
        expect((await records.instances.get(uuid)).get('host')).to.equal(host);
        expect(await records.cellOf(uuid)).to.equal(cell);
      }));
  }

  it('each leave out what is only a copy, in lists and by name', () =>
    withTwoCells({}, async (cells) => {
      const uuid = await cells.first.bootActive(SOURCE);
      const held = cells.second.virt(DEST).steps.hold('start-guest');
      await cells.resize(uuid);
      await held.reached;
      expect(await listed(cells.first)).to.deep.equal([`active/resize_migrated@${SOURCE}`]);
      expect(await listed(cells.second)).to.deep.equal([]);
      held.release();
      await cells.moved(uuid);
      expect(await listed(cells.first)).to.deep.equal([]);
      expect(await listed(cells.second)).to.deep.equal([`resized/-@${DEST}`]);
      const api = { records: cells.first.cloud.records, liveness: new Liveness() };
      const refused = await findInstance(api, uuid).catch((error: unknown) => String(error));
      expect(refused).to.contain('There is no instance with the id');
    }));

  it('take changes where the record is, and the host', () =>
    withTwoCells({}, async (cells) => {
      const uuid = await cells.bootMoved();
      const records = united(cells);
      await records.instances.update(uuid, { display_name: 'renamed' });
      expect((await cells.second.cloud.records.instances.get(uuid)).get('display_name')).to.equal('renamed');
      await records.services.update('compute', DEST, { disabled: true });
      expect((await cells.second.cloud.records.services.get('compute', DEST)).disabled).to.equal(true);
      expect((await records.services.list('compute')).map(({ host }) => host)).to.deep.equal([SOURCE, DEST]);
      expect((await records.allocations.capacities()).map(({ host }) => host)).to.deep.equal([SOURCE, DEST]);
      expect((await records.allocations.find({ consumer: uuid })).map(({ host }) => host)).to.deep.equal([
        DEST,
      ]);
      expect(await codeOf(records.services.get('compute', 'nobody'))).to.equal('ERR_NOT_FOUND');
      expect(await codeOf(records.cellOf('nobody'))).to.equal('ERR_NOT_FOUND');
    }));
});

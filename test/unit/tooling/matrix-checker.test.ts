import { Instance, InstanceFault, Migration, type MigrationStatus } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { sightProblems } from '../../matrix/process/checker.js';
import type { Sight } from '../../matrix/process/sight.js';

const instance = Instance.create({ uuid: 'vm', memory_mb: 512, fault: null });
const HERE: Sight = {
  instance,
  vm: 'active',
  task: null,
  host: 'a',
  migrations: [],
  status: '-',
  guests: ['a:running'],
  kept: [],
  expected: [],
  ports: ['a'],
  allocations: ['instance@a:512'],
  images: [],
};

function move(status: MigrationStatus): Migration {
  return Migration.create({ uuid: 'move', source_compute: 'a', dest_compute: 'b', status });
}

const RESIZED: Sight = {
  ...HERE,
  vm: 'resized',
  host: 'b',
  migrations: [move('finished')],
  guests: ['b:running'],
  kept: ['a'],
  ports: ['b'],
  allocations: ['instance@b:512', 'migration@a:512'],
};

describe('the checker of the drain matrix', () => {
  for (const [what, sight] of [
    ['that runs', HERE],
    ['that is stopped', { ...HERE, vm: 'stopped', guests: ['a:shutdown'] }],
    ['that is resized', RESIZED],
    ['that is deleted', { ...HERE, vm: 'deleted', guests: [], ports: [], allocations: [] }],
    ['whose moves are over', { ...HERE, migrations: [move('error'), move('reverted')] }],
  ] as const) {
    it(`finds nothing wrong with an instance ${what}`, () => {
      expect(sightProblems(sight)).to.deep.equal([]);
    });
  }

  for (const [what, sight, problem] of [
    ['a second copy', { ...HERE, guests: ['a:running', 'b:running'] }, /guests are a:running,b:running/],
    ['a guest that is gone', { ...HERE, guests: [] }, /guests are , and not a:running/],
    ['a guest that does not run', { ...HERE, guests: ['a:shutdown'] }, /guests are a:shutdown/],
    ['a guest of one that is deleted', { ...HERE, vm: 'deleted', allocations: [] }, /guests are a:running/],
    ['a copy after an ERROR', { ...HERE, vm: 'error', guests: ['b:running'] }, /guests are b:running/],
    ['something prepared', { ...HERE, expected: ['b'] }, /b has prepared something/],
    ['something kept', { ...HERE, kept: ['b'] }, /b keeps something/],
    ['a resize that cannot be reverted', { ...RESIZED, kept: [] }, /keeps something/],
    ['ports of two hosts', { ...HERE, ports: ['a', 'b'] }, /ports belong to a,b/],
    ['a task', { ...HERE, task: 'migrating' }, /its task is migrating/],
    ['a build without an end', { ...HERE, vm: 'building' }, /being built/],
    ['a migration half-way', { ...HERE, migrations: [move('running')] }, /a migration is running/],
    ['a resize that waits', { ...HERE, migrations: [move('finished')] }, /a migration is finished/],
    ['two moves for one', { ...HERE, migrations: [move('completed'), move('completed')] }, /moved 2 times/],
    ['an ERROR that says nothing', { ...HERE, vm: 'error' }, /without a fault/],
    ['a claim that is missing', { ...HERE, allocations: [] }, /instance@a:512 is not allocated/],
    ['a claim of another size', { ...HERE, allocations: ['instance@a:1024'] }, /1024 is allocated/],
    ['a claim at another host', { ...HERE, allocations: ['instance@a:512', 'instance@b:512'] }, /b:512 is/],
    ['a claim of a migration', { ...HERE, allocations: ['instance@a:512', 'migration@a:512'] }, /migration@/],
  ] as const) {
    it(`finds ${what} (GS-6)`, () => {
      expect(sightProblems(sight).join('\n')).to.match(problem);
    });
  }

  it('takes an ERROR that says why, and leaves what a dead host has alone', () => {
    const fault = InstanceFault.create({ code: 500, message: 'cut off' });
    const failed = instance.clone().update({ fault });
    expect(sightProblems({ ...HERE, vm: 'error', instance: failed })).to.deep.equal([]);
    const allocations = ['instance@a:512', 'instance@b:512'];
    const evacuated = { ...HERE, host: 'b', guests: ['a:running', 'b:running'], ports: ['b'], allocations };
    expect(sightProblems(evacuated)).to.not.be.empty;
    expect(sightProblems(evacuated, { dead: 'a' })).to.deep.equal([]);
  });
});

import { Instance, type TaskState, type VmState } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { statesOf, statusOf } from '#compute/http/server-status.js';

function of(vm_state: VmState, task_state: TaskState = null, deleted = false): string {
  return statusOf(Instance.create({ vm_state, task_state, deleted }));
}

describe('compute: status of a server', () => {
  it('is upstream’s word for its state', () => {
    const words: Readonly<Record<VmState, string>> = {
      active: 'ACTIVE',
      building: 'BUILD',
      stopped: 'SHUTOFF',
      resized: 'VERIFY_RESIZE',
      paused: 'PAUSED',
      suspended: 'SUSPENDED',
      rescued: 'RESCUE',
      error: 'ERROR',
      deleted: 'DELETED',
      shelved: 'SHELVED',
      shelved_offloaded: 'SHELVED_OFFLOADED',
    };
    for (const [state, word] of Object.entries(words)) expect(of(state as VmState)).to.equal(word);
    expect(of('active', 'rebooting', true)).to.equal('DELETED');
  });

  it('is that for what is done to it, where that counts', () => {
    const cases: readonly (readonly [VmState, TaskState, string])[] = [
      ['active', 'rebooting', 'REBOOT'],
      ['active', 'reboot_started_hard', 'HARD_REBOOT'],
      ['active', 'updating_password', 'PASSWORD'],
      ['active', 'rebuild_spawning', 'REBUILD'],
      ['active', 'migrating', 'MIGRATING'],
      ['active', 'resize_prep', 'RESIZE'],
      ['active', 'powering-off', 'ACTIVE'],
      ['stopped', 'resize_finish', 'RESIZE'],
      ['stopped', 'rebuilding', 'REBUILD'],
      ['stopped', 'powering-on', 'SHUTOFF'],
      ['paused', 'migrating', 'MIGRATING'],
      ['resized', 'resize_reverting', 'REVERT_RESIZE'],
      ['error', 'rebuilding', 'REBUILD'],
      ['building', 'spawning', 'BUILD'],
    ];
    for (const [vm, task, word] of cases) expect(of(vm, task), `${vm}/${String(task)}`).to.equal(word);
  });

  it('is looked for by states, and by tasks only where all that is wanted are tasks', () => {
    expect(statesOf(['odd'])).to.equal(undefined);
    expect(statesOf(['active', 'odd'])).to.deep.equal({ vms: new Set(['active']), tasks: undefined });
    expect(statesOf(['Migrating'])).to.deep.equal({
      vms: new Set(['active', 'paused']),
      tasks: new Set(['migrating']),
    });
    expect(statesOf(['migrating', 'SHUTOFF'])?.tasks).to.equal(undefined);
  });
});

import { type TaskState, type VirtStep } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { codeOf, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

async function stopped(test: TestCloud): Promise<string> {
  const uuid = await test.bootActive();
  await test.cloud.actions.stop({}, uuid);
  await test.becomes(uuid, 'stopped/-');
  return uuid;
}

describe('starting, stopping and rebooting', () => {
  it('stops the guest and starts it again, over the new-request topic', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      test.arrived.length = 0;
      test.states.length = 0;
      await test.cloud.actions.stop({}, uuid);
      const off = await test.becomes(uuid, 'stopped/-');
      expect(off.get('power_state')).to.equal(4);
      expect(await test.virt(SOURCE).guestState(uuid)).to.equal('shutdown');
      await test.cloud.actions.start({}, uuid);
      const on = await test.becomes(uuid, 'active/-');
      expect(on.get('power_state')).to.equal(1);
      expect(await test.virt(SOURCE).guestState(uuid)).to.equal('running');
      expect(test.states).to.deep.equal([
        'active/powering-off',
        'stopped/-',
        'stopped/powering-on',
        'active/-',
      ]);
      expect(test.arrived).to.deep.equal([
        `stop_instance @ compute.${SOURCE}`,
        `start_instance @ compute.${SOURCE}`,
      ]);
      await test.idle(SOURCE);
    }));

  it('leaves the instance what it was when the hypervisor fails', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      test.virt(SOURCE).steps.failNext('power-off');
      await test.cloud.actions.stop({}, uuid);
      await test.becomes(uuid, 'active/-');
      await test.idle(SOURCE);
      await test.cloud.actions.stop({}, uuid);
      await test.becomes(uuid, 'stopped/-');
      test.virt(SOURCE).steps.failNext('power-on');
      await test.cloud.actions.start({}, uuid);
      await test.becomes(uuid, 'stopped/-');
      await test.idle(SOURCE);
      expect(await test.virt(SOURCE).guestState(uuid)).to.equal('shutdown');
    }));

  for (const [how, tasks] of [
    ['soft', ['rebooting', 'reboot_started']],
    ['hard', ['rebooting_hard', 'reboot_started_hard']],
  ] as const) {
    it(`reboots (${how})`, () =>
      withCloud({}, async (test) => {
        const uuid = await test.bootActive();
        test.states.length = 0;
        await test.cloud.actions.reboot({}, uuid, how);
        await test.becomes(uuid, 'active/-');
        await test.idle(SOURCE);
        expect(test.states).to.deep.equal([`active/${tasks[0]}`, `active/${tasks[1]}`, 'active/-']);
      }));
  }

  it('keeps an instance active whose guest runs although its reboot failed, and mends one in ERROR', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      test.virt(SOURCE).steps.failNext('reboot-soft');
      await test.cloud.actions.reboot({}, uuid);
      await test.becomes(uuid, 'active/-');
      await test.idle(SOURCE);
      test.virt(SOURCE).steps.failNext('reboot-hard');
      await test.cloud.actions.reboot({}, uuid, 'hard');
      await test.becomes(uuid, 'error/-');
      await test.idle(SOURCE);
      await test.cloud.actions.reboot({}, uuid, 'hard');
      await test.becomes(uuid, 'active/-');
      expect(await test.virt(SOURCE).guestState(uuid)).to.equal('running');
    }));

  it('does not begin a hard reboot before the soft one has ended: two never overlap', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const soft = test.virt(SOURCE).steps.hold('reboot-soft');
      const hard = test.virt(SOURCE).steps.hold('reboot-hard');
      let hardBegan = false;
      void hard.reached.then(() => (hardBegan = true));
      await test.cloud.actions.reboot({}, uuid);
      await soft.reached;
      await test.cloud.actions.reboot({}, uuid, 'hard');
      expect(hardBegan).to.equal(false);
      soft.release();
      await hard.reached;
      expect(test.tasks(SOURCE)).to.deep.equal(['reboot_instance']);
      hard.release();
      await test.becomes(uuid, 'active/-');
      await test.idle(SOURCE);
    }));

  it('refuses what the state of the instance does not allow', () =>
    withCloud({}, async (test) => {
      const { actions, records } = test.cloud;
      const uuid = await stopped(test);
      expect(await codeOf(actions.stop({}, uuid))).to.equal('ERR_UNEXPECTED_STATE');
      expect(await codeOf(actions.reboot({}, uuid))).to.equal('ERR_UNEXPECTED_STATE');
      await records.instances.update(uuid, { task_state: 'rebuilding' });
      for (const ask of [
        () => actions.start({}, uuid),
        () => actions.snapshot({}, uuid),
        () => actions.reboot({}, uuid, 'hard'),
        () => test.cloud.rebuilds.rebuild({}, uuid),
      ]) {
        expect(await codeOf(ask())).to.equal('ERR_UNEXPECTED_STATE');
      }
      expect(await test.stateOf(uuid)).to.equal(`stopped/rebuilding@${SOURCE}`);
    }));

  it('is refused at once, as a conflict, when the host is down, and changes nothing (COMP-16)', () =>
    withCloud({}, async (test) => {
      const { actions } = test.cloud;
      const uuid = await test.bootActive();
      await test.crash(SOURCE);
      for (const ask of [
        () => actions.stop({}, uuid),
        () => actions.reboot({}, uuid, 'hard'),
        () => actions.snapshot({}, uuid),
        () => actions.consoleOutput({}, uuid),
        () => test.cloud.rebuilds.rebuild({}, uuid),
      ]) {
        expect(await codeOf(ask())).to.equal('ERR_HOST_DOWN');
      }
      expect(await test.stateOf(uuid)).to.equal(`active/-@${SOURCE}`);
      await test.revive(SOURCE);
    }));

  it('does nothing for a request that is not wanted any more when it comes', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const instance = await test.cloud.records.instances.get(uuid);
      const args = { instance, clean_shutdown: true };
      await test.cloud.computeApi.cast({}, 'stop_instance', SOURCE, args);
      await test.cloud.computeApi.call({}, 'get_host_uptime', SOURCE, {}); // comes after it on the same queue
      await test.idle(SOURCE);
      expect(await test.stateOf(uuid)).to.equal(`active/-@${SOURCE}`);
      expect(await test.virt(SOURCE).guestState(uuid)).to.equal('running');
    }));

  describe('when the host drains', () => {
    const actions: readonly (readonly [
      VirtStep,
      string,
      (test: TestCloud, uuid: string) => Promise<unknown>,
    ])[] = [
      ['power-off', 'stopped/-', (test, uuid) => test.cloud.actions.stop({}, uuid)],
      ['reboot-soft', 'active/-', (test, uuid) => test.cloud.actions.reboot({}, uuid)],
      ['upload-image', 'active/-', (test, uuid) => test.cloud.actions.snapshot({}, uuid)],
    ];
    for (const [step, end, ask] of actions) {
      it(`waits for what has begun: ${step} (GS-2, GS-3, GS-5, GS-76)`, () =>
        withCloud({}, async (test) => {
          const uuid = await test.bootActive();
          const held = test.virt(SOURCE).steps.hold(step);
          await ask(test, uuid);
          await held.reached;
          const { ended, hasEnded } = await test.terminate(SOURCE);
          expect(hasEnded()).to.equal(false);
          held.release();
          expect((await ended).code).to.equal(0);
          expect(await test.stateOf(uuid)).to.equal(`${end}@${SOURCE}`);
          await test.revive(SOURCE);
        }));
    }

    it('leaves what is asked for meanwhile in the queue, and does it after the restart (GS-1, GS-16, GS-101)', () =>
      withCloud({}, async (test) => {
        const [busy, uuid] = [await test.bootActive(), await test.bootActive()];
        const held = test.virt(SOURCE).steps.hold('power-off');
        await test.cloud.actions.stop({}, busy);
        await held.reached;
        const { ended } = await test.terminate(SOURCE);
        await test.cloud.actions.reboot({}, uuid);
        held.release();
        expect((await ended).code).to.equal(0);
        expect(await test.stateOf(uuid)).to.equal(`active/rebooting@${SOURCE}`);
        await test.revive(SOURCE);
        await test.becomes(uuid, 'active/-');
        await test.idle(SOURCE);
      }));
  });

  describe('when the host dies in the middle (COMP-07)', () => {
    const cases: readonly (readonly [
      VirtStep,
      TaskState,
      string,
      (t: TestCloud, u: string) => Promise<unknown>,
    ])[] = [
      ['power-off', 'powering-off', 'stopped/-', (test, uuid) => test.cloud.actions.stop({}, uuid)],
      ['reboot-soft', 'reboot_started', 'active/-', (test, uuid) => test.cloud.actions.reboot({}, uuid)],
      ['copy-disk', 'image_snapshot', 'active/-', (test, uuid) => test.cloud.actions.snapshot({}, uuid)],
      ['destroy', 'deleting', 'deleted/-', (test, uuid) => test.cloud.actions.delete({}, uuid)],
    ];
    for (const [step, task, end, ask] of cases) {
      it(`drives an instance in ${String(task)} to ${end} at its next start`, () =>
        withCloud({}, async (test) => {
          const uuid = await test.bootActive();
          const held = test.virt(SOURCE).steps.hold(step);
          await ask(test, uuid);
          await held.reached;
          await test.crash(SOURCE);
          held.release();
          expect(await test.stateOf(uuid)).to.contain(`/${String(task)}@`);
          await test.revive(SOURCE);
          await test.becomes(uuid, end);
          await test.idle(SOURCE);
        }));
    }
  });
});

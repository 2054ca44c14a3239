import type { GuestState, TaskState, VirtStep } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { codeOf, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

interface Row {
  readonly name: string;
  /** What has to be done before, and what the instance is then. */
  readonly before?: Row;
  readonly ask: (test: TestCloud, uuid: string) => Promise<unknown>;
  readonly step: VirtStep;
  readonly task: TaskState;
  /** What it is afterwards, and what its guest does. */
  readonly end: string;
  readonly guest: GuestState;
  readonly power: number;
  /** After a failure of its step. */
  readonly failed: string;
}

const PAUSE: Row = {
  name: 'pause',
  ask: (test, uuid) => test.cloud.controls.ask({}, uuid, 'pause'),
  step: 'pause',
  task: 'pausing',
  end: 'paused/-',
  guest: 'paused',
  power: 3,
  failed: 'active/-',
};
const SUSPEND: Row = {
  name: 'suspend',
  ask: (test, uuid) => test.cloud.controls.ask({}, uuid, 'suspend'),
  step: 'suspend',
  task: 'suspending',
  end: 'suspended/-',
  guest: 'shutdown',
  power: 4,
  failed: 'error/-',
};
const RESCUE: Row = {
  name: 'rescue',
  ask: (test, uuid) => test.cloud.controls.rescue({}, uuid, 'a-rescue-image'),
  step: 'rescue',
  task: 'rescuing',
  end: 'rescued/-',
  guest: 'running',
  power: 1,
  failed: 'error/-',
};
const ROWS: readonly Row[] = [
  PAUSE,
  {
    name: 'unpause',
    before: PAUSE,
    ask: (test, uuid) => test.cloud.controls.ask({}, uuid, 'unpause'),
    step: 'unpause',
    task: 'unpausing',
    end: 'active/-',
    guest: 'running',
    power: 1,
    failed: 'paused/-',
  },
  SUSPEND,
  {
    name: 'resume',
    before: SUSPEND,
    ask: (test, uuid) => test.cloud.controls.ask({}, uuid, 'resume'),
    step: 'resume',
    task: 'resuming',
    end: 'active/-',
    guest: 'running',
    power: 1,
    failed: 'error/-',
  },
  RESCUE,
  {
    name: 'unrescue',
    before: RESCUE,
    ask: (test, uuid) => test.cloud.controls.ask({}, uuid, 'unrescue'),
    step: 'unrescue',
    task: 'unrescuing',
    end: 'active/-',
    guest: 'running',
    power: 1,
    failed: 'error/-',
  },
];

async function prepared(test: TestCloud, { before }: Row): Promise<string> {
  const uuid = await test.bootActive();
  if (before) {
    await before.ask(test, uuid);
    await test.becomes(uuid, before.end);
  }
  return uuid;
}

for (const row of ROWS) {
  describe(`${row.name} of an instance`, () => {
    it(`shows ${String(row.task)} and ends in ${row.end}, with its guest`, () =>
      withCloud({}, async (test) => {
        const uuid = await prepared(test, row);
        test.states.length = 0;
        test.arrived.length = 0;
        await row.ask(test, uuid);
        const instance = await test.becomes(uuid, row.end);
        await test.idle(SOURCE);
        const from = row.before?.end.split('/')[0] ?? 'active';
        expect(test.states).to.deep.equal([`${from}/${String(row.task)}`, row.end]);
        expect(instance.get('power_state')).to.equal(row.power);
        expect(await test.virt(SOURCE).guestState(uuid)).to.equal(row.guest);
        expect(test.arrived).to.deep.equal([`${row.name}_instance @ compute.${SOURCE}`]);
        expect(test.cloud.host(SOURCE).process.service.registry.counts.failed).to.equal(0);
      }));

    it(`leaves it in ${row.failed} when the hypervisor fails`, () =>
      withCloud({}, async (test) => {
        const uuid = await prepared(test, row);
        test.virt(SOURCE).steps.failNext(row.step);
        await row.ask(test, uuid);
        await test.becomes(uuid, row.failed);
        await test.idle(SOURCE);
        expect(await test.stateOf(uuid)).to.equal(`${row.failed}@${SOURCE}`);
      }));

    it('is waited for by a host that drains (GS-2, GS-3, GS-76)', () =>
      withCloud({}, async (test) => {
        const uuid = await prepared(test, row);
        const held = test.virt(SOURCE).steps.hold(row.step);
        await row.ask(test, uuid);
        await held.reached;
        const { ended, hasEnded } = await test.terminate(SOURCE);
        expect(hasEnded()).to.equal(false);
        expect(test.tasks(SOURCE)).to.deep.equal([`${row.name}_instance`]);
        held.release();
        expect((await ended).code).to.equal(0);
        expect(await test.stateOf(uuid)).to.equal(`${row.end}@${SOURCE}`);
        await test.cloud.host(SOURCE).start();
      }));

    it('is done at the next start when the host dies in the middle (COMP-07)', () =>
      withCloud({}, async (test) => {
        const uuid = await prepared(test, row);
        const held = test.virt(SOURCE).steps.hold(row.step);
        await row.ask(test, uuid);
        await held.reached;
        await test.crash(SOURCE);
        held.release();
        expect(await test.stateOf(uuid)).to.contain(`/${String(row.task)}@`);
        await test.revive(SOURCE);
        await test.becomes(uuid, row.end);
        await test.idle(SOURCE);
        expect(await test.virt(SOURCE).guestState(uuid)).to.equal(row.guest);
      }));

    it('is refused in another state, and does nothing when it is not wanted any more', () =>
      withCloud({}, async (test) => {
        const uuid = await prepared(test, row);
        await row.ask(test, uuid);
        await test.becomes(uuid, row.end);
        if (row.name !== 'rescue') expect(await codeOf(row.ask(test, uuid))).to.equal('ERR_UNEXPECTED_STATE');
        const instance = await test.cloud.records.instances.get(uuid);
        await test.cloud.computeApi.cast({}, 'pause_instance', SOURCE, { instance });
        await test.cloud.computeApi.call({}, 'get_host_uptime', SOURCE, {}); // comes after it on the same queue
        await test.idle(SOURCE);
        expect(await test.stateOf(uuid)).to.equal(`${row.end}@${SOURCE}`);
      }));
  });
}

describe('what is told to a guest', () => {
  it('is a new password, by a call that ends when the guest has it; a failure tells nothing of it', () =>
    withCloud({}, async (test) => {
      const { controls } = test.cloud;
      const uuid = await test.bootActive();
      test.states.length = 0;
      await controls.setPassword({}, uuid, 'of-nobody');
      expect(await test.stateOf(uuid)).to.equal(`active/-@${SOURCE}`);
      expect(test.states).to.deep.equal(['active/updating_password', 'active/-']);
      test.virt(SOURCE).steps.failNext('set-password');
      const error: unknown = await controls
        .setPassword({}, uuid, 'of-nobody')
        .catch((thrown: unknown) => thrown);
      expect(error).to.have.property('code', 'ERR_HYPERVISOR');
      expect(String(error)).to.not.contain('of-nobody');
      expect(await test.stateOf(uuid)).to.equal(`active/-@${SOURCE}`);
    }));

  it('is an interrupt at which it dumps its memory, and that its file systems are to stand still', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const dump = test.virt(SOURCE).steps.hold('inject-nmi');
      await test.cloud.controls.crashDump({}, uuid);
      await dump.reached;
      dump.release();
      await test.idle(SOURCE);
      const instance = await test.cloud.records.instances.get(uuid);
      const { computeApi } = test.cloud;
      const { quiesced } = test.virt(SOURCE).control;
      await computeApi.call({}, 'quiesce_instance', SOURCE, { instance });
      expect([...quiesced]).to.deep.equal([uuid]);
      await computeApi.cast({}, 'unquiesce_instance', SOURCE, { instance, mapping: null });
      await computeApi.call({}, 'get_host_uptime', SOURCE, {}); // comes after it on the same queue
      await test.idle(SOURCE);
      expect([...quiesced]).to.deep.equal([]);
    }));
});

describe('a host that Nova’s API disables', () => {
  it('says so in its record, and gets no instances until it is enabled', () =>
    withCloud({}, async (test) => {
      const { computeApi, records } = test.cloud;
      expect(await computeApi.call({}, 'set_host_enabled', SOURCE, { enabled: false })).to.equal('disabled');
      expect((await records.services.get('compute', SOURCE)).disabled).to.equal(true);
      expect(await computeApi.call({}, 'set_host_enabled', SOURCE, { enabled: true })).to.equal('enabled');
      expect((await records.services.get('compute', SOURCE)).disabled).to.equal(false);
    }));
});

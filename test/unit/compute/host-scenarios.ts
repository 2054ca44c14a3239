import type { VirtStep } from '#compute/virt/virt-steps.js';
import { bereft } from './evacuation-words.js';
import { allIdle, BIGGER, bootResized, preferring, THIRD } from './resize-words.js';
import { DEST, SOURCE, type TestCloud } from './test-cloud.js';
import type { Scenario } from './write-scenarios.js';

const active = (test: TestCloud): Promise<string> => test.bootActive();
/** An active instance; a step of what is then asked fails. */
const failing =
  (host: string, step: VirtStep, before: Scenario['before'] = active): Scenario['before'] =>
  async (test) => {
    const uuid = await before(test);
    test.virt(host).steps.failNext(step);
    return uuid;
  };
/** Something was asked for, and has been done. */
const after =
  (state: string, ask: Scenario['ask'], before: Scenario['before'] = active): Scenario['before'] =>
  async (test) => {
    const uuid = await before(test);
    await ask(test, uuid);
    await test.becomes(uuid, state);
    await allIdle(test);
    return uuid;
  };

/** Before it is ordered. */
const unborn: Scenario['before'] = async (test) => test.recorded.bootRequest(1, SOURCE).instance.get('uuid');

const ctx = (test: TestCloud) => test.recorded.context;
const boot: Scenario['ask'] = (test) => test.boot(SOURCE);
/** On the host that the scheduler likes best. */
const bootAnywhere: Scenario['ask'] = (test) => {
  const { requestSpec, ...request } = test.recorded.bootRequest(1, SOURCE);
  const anywhere = requestSpec.update({ force_hosts: null });
  return test.cloud.servers.boot(ctx(test), { ...request, requestSpec: anywhere });
};
const shelve: Scenario['ask'] = (test, uuid) => test.cloud.controls.shelve(ctx(test), uuid);
const unshelve: Scenario['ask'] = (test, uuid) => test.cloud.controls.unshelve(ctx(test), uuid);
const stop: Scenario['ask'] = (test, uuid) => test.cloud.actions.stop(ctx(test), uuid);
const resize: Scenario['ask'] = (test, uuid) => test.cloud.moves.resize(ctx(test), uuid, BIGGER);
const confirm: Scenario['ask'] = (test, uuid) => test.cloud.moves.confirmResize(ctx(test), uuid);
const revert: Scenario['ask'] = (test, uuid) => test.cloud.moves.revertResize(ctx(test), uuid);
const liveMigrate: Scenario['ask'] = (test, uuid) => test.migrate(uuid);
const remove: Scenario['ask'] = (test, uuid) => test.cloud.actions.delete(ctx(test), uuid);
const control =
  (what: 'pause' | 'unpause' | 'suspend' | 'resume' | 'unrescue'): Scenario['ask'] =>
  (test, uuid) =>
    test.cloud.controls.ask(ctx(test), uuid, what);
const rescue: Scenario['ask'] = (test, uuid) => test.cloud.controls.rescue(ctx(test), uuid);

const THREE = { hosts: [SOURCE, DEST, THIRD], resourcesOf: preferring(DEST) };
const ANYWHERE = ['active/-', 'error/-'];

const STAYS_SHELVED = { host: { shelvedOffloadMs: null } };
const SHELVED = ['shelved_offloaded/-', 'active/-', 'stopped/-'];

export const SCENARIOS: readonly Scenario[] = [
  { what: 'a boot', dies: SOURCE, before: unborn, ask: boot, ends: ANYWHERE },
  {
    what: 'a boot that it hands to another host',
    dies: DEST,
    before: failing(DEST, 'create-disks', unborn),
    ask: bootAnywhere,
    ends: ANYWHERE,
    options: THREE,
  },
  { what: 'a shelving', dies: SOURCE, before: active, ask: shelve, ends: SHELVED },
  {
    what: 'a shelving where it stays',
    dies: SOURCE,
    before: active,
    ask: shelve,
    ends: ['shelved/-'],
    options: STAYS_SHELVED,
  },
  {
    what: 'the offloading of a shelved one',
    dies: SOURCE,
    before: after('shelved/-', shelve),
    ask: (test, uuid) => test.cloud.controls.shelveOffload(ctx(test), uuid),
    ends: ['shelved_offloaded/-'],
    options: STAYS_SHELVED,
  },
  {
    what: 'an unshelving where it is',
    dies: SOURCE,
    before: after('shelved/-', shelve),
    ask: unshelve,
    ends: ['active/-'],
    options: STAYS_SHELVED,
  },
  {
    what: 'an unshelving to it',
    dies: DEST,
    before: after('shelved_offloaded/-', shelve),
    ask: unshelve,
    ends: ['active/-', 'shelved_offloaded/-'],
    options: THREE,
  },
  {
    what: 'the adding of a volume',
    dies: SOURCE,
    before: active,
    ask: (test, uuid) => test.cloud.controls.addVolume(ctx(test), uuid, 'volume').catch(() => undefined),
    ends: ['active/-'],
  },
  {
    what: 'stopping',
    dies: SOURCE,
    before: active,
    ask: stop,
    ends: ['stopped/-'],
  },
  {
    what: 'starting',
    dies: SOURCE,
    before: after('stopped/-', stop),
    ask: (test, uuid) => test.cloud.actions.start(ctx(test), uuid),
    ends: ['active/-'],
  },
  ...(['soft', 'hard'] as const).map((how): Scenario => ({
    what: `a ${how} reboot`,
    dies: SOURCE,
    before: active,
    ask: (test, uuid) => test.cloud.actions.reboot(ctx(test), uuid, how),
    ends: ['active/-'],
  })),
  {
    what: 'a snapshot',
    dies: SOURCE,
    before: active,
    ask: (test, uuid) => test.cloud.actions.snapshot(ctx(test), uuid),
    ends: ['active/-'],
  },
  ...(['pause', 'suspend'] as const).map((what): Scenario => ({
    what: `to ${what}`,
    dies: SOURCE,
    before: active,
    ask: control(what),
    ends: [what === 'pause' ? 'paused/-' : 'suspended/-'],
  })),
  {
    what: 'to unpause',
    dies: SOURCE,
    before: after('paused/-', control('pause')),
    ask: control('unpause'),
    ends: ['active/-'],
  },
  {
    what: 'to resume',
    dies: SOURCE,
    before: after('suspended/-', control('suspend')),
    ask: control('resume'),
    ends: ['active/-'],
  },
  { what: 'a rescue', dies: SOURCE, before: active, ask: rescue, ends: ['rescued/-', 'active/-', 'error/-'] },
  {
    what: 'the end of a rescue',
    dies: SOURCE,
    before: after('rescued/-', rescue),
    ask: control('unrescue'),
    ends: ANYWHERE,
  },
  {
    what: 'a rebuild',
    dies: SOURCE,
    before: active,
    ask: (test, uuid) => test.cloud.rebuilds.rebuild(ctx(test), uuid),
    ends: ANYWHERE,
  },
  { what: 'a delete', dies: SOURCE, before: active, ask: remove, ends: ['deleted/-'] },
  { what: 'the delete of a resized one', dies: DEST, before: bootResized, ask: remove, ends: ['deleted/-'] },
  {
    what: 'an evacuation to it',
    dies: DEST,
    before: bereft,
    ask: (test, uuid) => test.cloud.rebuilds.evacuate({}, uuid),
    ends: ANYWHERE,
  },
  {
    what: 'an evacuation to it that fails',
    dies: DEST,
    before: failing(DEST, 'create-disks', bereft),
    ask: (test, uuid) => test.cloud.rebuilds.evacuate({}, uuid),
    ends: ['error/-'],
  },
  {
    what: 'a live migration that fails',
    dies: SOURCE,
    before: failing(SOURCE, 'switch-over'),
    ask: liveMigrate,
    ends: ANYWHERE,
  },
  ...[SOURCE, DEST].flatMap((dies): readonly Scenario[] => [
    { what: `a live migration, ${dies}`, dies, before: active, ask: liveMigrate, ends: ANYWHERE },
    { what: `a resize, ${dies}`, dies, before: active, ask: resize, ends: ['resized/-', ...ANYWHERE] },
    {
      what: `a resize whose source fails, ${dies}`,
      dies,
      before: failing(SOURCE, 'copy-disks'),
      ask: resize,
      ends: ANYWHERE,
    },
    {
      what: `a resize whose destination cannot finish, ${dies}`,
      dies,
      before: failing(DEST, 'finish-migration'),
      ask: resize,
      ends: ['resized/-', ...ANYWHERE],
      keeps: 'at both ends',
    },
    { what: `a revert, ${dies}`, dies, before: bootResized, ask: revert, ends: ANYWHERE },
    {
      what: `a revert that fails at its source, ${dies}`,
      dies,
      before: failing(SOURCE, 'finish-revert', bootResized),
      ask: revert,
      ends: ANYWHERE,
    },
  ]),
  {
    what: 'a resize that it hands to another host',
    dies: DEST,
    before: failing(DEST, 'check-cold-destination', (test) => test.bootActive(SOURCE)),
    ask: resize,
    ends: ['resized/-', ...ANYWHERE],
    options: THREE,
  },
  { what: 'a confirmation', dies: SOURCE, before: bootResized, ask: confirm, ends: ['active/-'] },
  {
    what: 'a confirmation that fails',
    dies: SOURCE,
    before: failing(SOURCE, 'confirm-migration', bootResized),
    ask: confirm,
    ends: ANYWHERE,
    keeps: 'at the source',
  },
];

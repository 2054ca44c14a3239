import { type CloudOptions } from '#compute/main-job/cloud.js';
import { isFinal } from '#compute/objects/states.js';
import type { VirtStep } from '#compute/virt/virt-steps.js';
import { eventually } from '../../support/rigs/deadline.js';
import { type Doom, DoomedHost } from './doomed-host.js';
import { bereft } from './evacuation-words.js';
import { allIdle, BIGGER, bootResized, kill, outcomeOf, preferring, THIRD } from './resize-words.js';
import { DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

/** Something that is asked of an instance, and the host that dies while it does its part. */
export interface Scenario {
  readonly what: string;
  readonly dies: string;
  readonly before: (test: TestCloud) => Promise<string>;
  readonly ask: (test: TestCloud, uuid: string) => Promise<unknown>;
  /** What the instance may be in the end, whatever happens: what was wanted, what it was, or ERROR. */
  readonly ends: readonly string[];
  /** Disks that stay, as somebody may want them. */
  readonly keeps?: 'at the source' | 'at both ends';
  readonly options?: Partial<CloudOptions>;
}

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

const ctx = (test: TestCloud) => test.recorded.context;
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

export const SCENARIOS: readonly Scenario[] = [
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

/** What is wrong with an instance, and all that belongs to it; nothing once all has come to an end. */
async function problemsOf(
  test: TestCloud,
  uuid: string,
  { ends, keeps }: Scenario,
): Promise<readonly string[]> {
  const busy = [...test.cloud.hosts.keys()].flatMap((name) => test.tasks(name));
  const { state, host, guests, disks, kept, boundTo, allocations } = await outcomeOf(test, uuid);
  const migrations = await test.cloud.records.migrations.find({ instance_uuid: uuid });
  const open = migrations.map((one) => one.get('status')).filter((one) => !isFinal(one));
  const isResized = state === 'resized/-';
  const [vm = ''] = state.split('/');
  const here = guests.filter((one) => one.startsWith(`${String(host)}:`));
  const runs = ['active', 'rescued'].includes(vm) || isResized;
  // An evacuated one still has its old place at a host that has not come back.
  const dead = migrations.some((one) => one.get('migration_type') === 'evacuation') ? [SOURCE] : [];
  const strays = guests.filter((one) => !here.includes(one) && !dead.some((name) => one.startsWith(name)));
  const claims = new Set([`instance@${String(host)}`, ...dead.map((name) => `instance@${name}`)]);
  const wrong = allocations
    .map((one) => one.slice(0, one.lastIndexOf(':')))
    .filter((one) => !claims.has(one) && !(isResized && one.startsWith('migration@')));
  const problems: readonly (readonly [string, boolean])[] = [
    [`tasks ${busy.join()}`, busy.length > 0],
    [`state ${state}`, !ends.includes(state)],
    [`migration ${open.join()}`, open.filter((one) => !(isResized && one === 'finished')).length > 0],
    [`guests ${guests.join()}`, strays.length > 0 || (vm === 'deleted' && guests.length > 0)],
    [`no guest, of ${guests.join()}`, runs && here.join() !== `${String(host)}:running`],
    [`disks ${disks.join()}`, disks.length > 0 && keeps !== 'at both ends'],
    [`kept ${kept.join()}`, kept.length > 0 && !isResized && keeps === undefined],
    [`bound to ${String(boundTo)}`, vm !== 'deleted' && boundTo !== host],
    [`allocations ${allocations.join()}`, wrong.length > 0],
    ['no allocation', runs && !allocations.some((one) => one.startsWith(`instance@${String(host)}:`))],
  ];
  return problems.filter(([, isSo]) => isSo).map(([what]) => what);
}

/** What came of a scenario. */
export interface Run {
  /** What the host has written in it. */
  readonly writes: readonly string[];
  /** What is wrong in the end. */
  readonly problems: readonly string[];
  /** `vm/task` of the instance in the end. */
  readonly state: string;
}

/** Does what is asked, with the death of a host and its next start in the middle of it, or with records that fail it. */
export async function run(scenario: Scenario, doom?: Doom): Promise<Run> {
  const doomed = new DoomedHost(scenario.dies, doom);
  const options = { recordsOf: doomed.recordsOf, rpcTimeoutMs: 300, recheckMs: 20, ...scenario.options };
  let problems: readonly string[] = [];
  let state = '';
  await withCloud(options, async (test) => {
    const uuid = await scenario.before(test);
    await allIdle(test);
    doomed.arm();
    await scenario.ask(test, uuid);
    if (doom?.when === 'before' || doom?.when === 'after') {
      await doomed.died;
      await kill(test, scenario.dies);
      doomed.raise();
      await test.cloud.host(scenario.dies).start();
    }
    const look = async (): Promise<boolean> => {
      problems = await problemsOf(test, uuid, scenario);
      return problems.length === 0;
    };
    await eventually(scenario.what, 5000, look).catch(() => undefined);
    state = (await outcomeOf(test, uuid)).state;
  });
  return { writes: doomed.writes, problems, state };
}

/** Runs a scenario once for each way in which one of its writes can go; resolves with what was wrong in any of them. */
export async function runEach(
  scenario: Scenario,
  { writes, state }: Run,
  ways: readonly Doom['when'][],
): Promise<string> {
  const dooms = writes.flatMap((_what, index) => ways.map((when): Doom => ({ write: index + 1, when })));
  const found = await Promise.all(
    dooms.map(async (doom) => {
      const one = await run(scenario, doom);
      const survives = doom.when === 'lost' || doom.when === 'away';
      const problems = survives && one.state !== state ? [...one.problems, one.state] : one.problems;
      const what = `${doom.when} ${doom.write}, ${writes[doom.write - 1] ?? ''}`;
      return problems.length === 0 ? [] : [`${what}: ${problems.join('; ')}`];
    }),
  );
  return found.flat().join('\n');
}

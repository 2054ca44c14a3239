import { type CloudOptions } from '#compute/main-job/cloud.js';
import { isFinal } from '#compute/objects/states.js';
import { eventually } from '../../support/rigs/deadline.js';
import { type Doom, DoomedHost } from './doomed-host.js';
import { allIdle, kill, outcomeOf } from './resize-words.js';
import { SOURCE, type TestCloud, withCloud } from './test-cloud.js';

/** How something may end. */
export interface Ending {
  /** What the instance may be in the end, whatever happens: what was wanted, what it was, or ERROR. */
  readonly ends: readonly string[];
  /** Disks that stay, as somebody may want them. */
  readonly keeps?: 'at the source' | 'at both ends';
}

/** Something that is asked of an instance, and the host that dies while it does its part. */
export interface Scenario extends Ending {
  readonly what: string;
  readonly dies: string;
  readonly before: (test: TestCloud) => Promise<string>;
  readonly ask: (test: TestCloud, uuid: string) => Promise<unknown>;
  readonly options?: Partial<CloudOptions>;
}

/** What is wrong with an instance, and all that belongs to it; nothing once all has come to an end. */
export async function problemsOf(
  test: TestCloud,
  uuid: string,
  { ends, keeps }: Ending,
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
  const isUnmade = vm === 'error' && guests.length === 0 && boundTo === null;
  const isNowhere = isUnmade || vm === 'deleted' || vm === 'shelved_offloaded';
  const problems: readonly (readonly [string, boolean])[] = [
    [`tasks ${busy.join()}`, busy.length > 0],
    [`state ${state}`, !ends.includes(state)],
    [`migration ${open.join()}`, open.filter((one) => !(isResized && one === 'finished')).length > 0],
    [`guests ${guests.join()}`, strays.length > 0 || (vm === 'deleted' && guests.length > 0)],
    [`no guest, of ${guests.join()}`, runs && here.join() !== `${String(host)}:running`],
    [`disks ${disks.join()}`, disks.length > 0 && keeps !== 'at both ends'],
    [`kept ${kept.join()}`, kept.length > 0 && !isResized && keeps === undefined],
    [`bound to ${String(boundTo)}`, !isNowhere && boundTo !== host],
    [`allocations ${allocations.join()}`, wrong.length > 0],
    ['a name for a volume that does not come', await hasReserved(test, uuid)],
    ['no allocation', runs && !allocations.some((one) => one.startsWith(`instance@${String(host)}:`))],
  ];
  return problems.filter(([, isSo]) => isSo).map(([what]) => what);
}

async function hasReserved(test: TestCloud, uuid: string): Promise<boolean> {
  const mappings = (await test.cloud.records.instances.get(uuid)).find('block_device_mapping');
  return (mappings?.get('objects') ?? []).some((one) => one.get('attachment_id') === null);
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
    await Promise.race([scenario.ask(test, uuid), doomed.died]); // who asks may wait for an answer
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

/** Does something once for each way in which one of its writes can go; resolves with what was wrong in any of them. */
export async function runEach(
  runWith: (doom: Doom) => Promise<Run>,
  { writes, state }: Run,
  ways: readonly Doom['when'][],
): Promise<string> {
  const dooms = writes.flatMap((_what, index) => ways.map((when): Doom => ({ write: index + 1, when })));
  const found = await Promise.all(
    dooms.map(async (doom) => {
      const one = await runWith(doom);
      const survives = doom.when === 'lost' || doom.when === 'away';
      const problems = survives && one.state !== state ? [...one.problems, one.state] : one.problems;
      const what = `${doom.when} ${doom.write}, ${writes[doom.write - 1] ?? ''}`;
      return problems.length === 0 ? [] : [`${what}: ${problems.join('; ')}`];
    }),
  );
  return found.flat().join('\n');
}

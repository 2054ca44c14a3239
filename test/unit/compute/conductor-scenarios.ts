import { silentLogger } from '@ebbgate/core';
import type { Service } from '@ebbgate/service';
import { type ConductorCells, conductorService, MigrationPreCheckError } from '@ebbgate/compute';
import { MemoryJournal, type RequestJournal } from '#compute/compute/request-journal.js';
import type { Cloud, CloudOptions } from '#compute/main-job/cloud.js';
import type { VirtStep } from '#compute/virt/virt-steps.js';
import { eventually } from '../../support/rigs/deadline.js';
import { type Doom, DoomedHost } from './doomed-host.js';
import { bereft } from './evacuation-words.js';
import { allIdle, BIGGER, outcomeOf, preferring, THIRD } from './resize-words.js';
import { DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';
import { type Ending, problemsOf, type Run } from './write-scenarios.js';

export const CONDUCTOR = 'conductor-1';

/** Something that a conductor has a part in. */
export interface ConductorScenario extends Ending {
  readonly what: string;
  readonly before: (test: TestCloud) => Promise<string>;
  readonly ask: (test: TestCloud, uuid: string) => Promise<unknown>;
  readonly options?: Partial<CloudOptions>;
}

const active = (test: TestCloud): Promise<string> => test.bootActive(SOURCE);
const unborn = async (test: TestCloud): Promise<string> =>
  test.recorded.bootRequest(1, SOURCE).instance.get('uuid');
/** On whichever host the scheduler finds. */
const boot: ConductorScenario['ask'] = (test) => {
  const { requestSpec, ...request } = test.recorded.bootRequest(1, SOURCE);
  return test.cloud.servers.boot(test.recorded.context, {
    ...request,
    requestSpec: requestSpec.update({ force_hosts: null }),
  });
};
const resize: ConductorScenario['ask'] = (test, uuid) =>
  test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
const liveMigrate: ConductorScenario['ask'] = (test, uuid) => test.migrate(uuid, null);
const evacuate: ConductorScenario['ask'] = (test, uuid) => test.cloud.rebuilds.evacuate({}, uuid);
const unshelve: ConductorScenario['ask'] = (test, uuid) => test.cloud.controls.unshelve({}, uuid);
const failing =
  (host: string, step: VirtStep, before: ConductorScenario['before'] = active): ConductorScenario['before'] =>
  async (test) => {
    const uuid = await before(test);
    test.virt(host).steps.failNext(step);
    return uuid;
  };
const shelved =
  (state: string): ConductorScenario['before'] =>
  async (test) => {
    const uuid = await active(test);
    await test.cloud.controls.shelve({}, uuid);
    await test.becomes(uuid, state);
    return uuid;
  };
/** Nobody else takes an instance. */
const alone = { hosts: [SOURCE] };
const three = { hosts: [SOURCE, DEST, THIRD], resourcesOf: preferring(DEST) };

export const SCENARIOS: readonly ConductorScenario[] = [
  { what: 'a boot', before: unborn, ask: boot, ends: ['active/-'] },
  {
    what: 'a boot that its first host fails',
    before: failing(DEST, 'create-disks', unborn),
    ask: boot,
    ends: ['active/-'],
    options: three,
  },
  {
    what: 'a boot for which there is no host',
    before: unborn,
    ask: boot,
    ends: ['error/-'],
    options: { ...alone, resourcesOf: () => ({ vcpus: 0, memoryMb: 0, diskGb: 0 }) },
  },
  { what: 'a live migration', before: active, ask: liveMigrate, ends: ['active/-'] },
  {
    what: 'a live migration that the first host refuses',
    before: async (test) => {
      test.virt(DEST).steps.failNext('check-destination', new MigrationPreCheckError('no, as ordered'));
      return active(test);
    },
    ask: liveMigrate,
    ends: ['active/-'],
    options: three,
  },
  {
    what: 'a live migration to nowhere',
    before: active,
    ask: liveMigrate,
    ends: ['active/-'],
    options: alone,
  },
  { what: 'a resize', before: active, ask: resize, ends: ['resized/-'] },
  {
    what: 'a resize that the first host refuses',
    before: failing(DEST, 'check-cold-destination'),
    ask: resize,
    ends: ['resized/-'],
    options: three,
  },
  { what: 'a resize to nowhere', before: active, ask: resize, ends: ['active/-'], options: alone },
  {
    what: 'a rebuild',
    before: active,
    ask: (test, uuid) => test.cloud.rebuilds.rebuild({}, uuid),
    ends: ['active/-'],
  },
  { what: 'an evacuation', before: bereft, ask: evacuate, ends: ['active/-'], options: three },
  { what: 'an evacuation to nowhere', before: bereft, ask: evacuate, ends: ['error/-'], options: alone },
  { what: 'an unshelving', before: shelved('shelved_offloaded/-'), ask: unshelve, ends: ['active/-'] },
  {
    what: 'an unshelving where it is',
    before: shelved('shelved/-'),
    ask: unshelve,
    ends: ['active/-'],
    options: { host: { shelvedOffloadMs: null } },
  },
];

/** A run of a conductor. @param doomed - it is the one that dies */
export async function startConductor(
  { records, networking, computeApi: { transport } }: Cloud,
  journal: RequestJournal,
  doomed?: DoomedHost,
  cells?: ConductorCells,
): Promise<Service> {
  const { service } = conductorService({
    name: CONDUCTOR,
    transport,
    ownsTransport: false,
    records: doomed?.recordsOf(CONDUCTOR, records) ?? records,
    networking,
    journal,
    logger: silentLogger,
    api: { rpcTimeoutMs: 2000, ...(doomed && { interceptors: [doomed.onSend] }) },
    ...(cells && { cells }),
  });
  await service.start();
  return service;
}

/** Does what is asked, with the death of the conductor and the start of the next one in the middle of it. */
export async function run(scenario: ConductorScenario, doom?: Doom): Promise<Run> {
  const doomed = new DoomedHost(CONDUCTOR, doom);
  const journal = new MemoryJournal();
  let problems: readonly string[] = [];
  let state = '';
  await withCloud({ recheckMs: 20, ...scenario.options, conductors: 0 }, async (test) => {
    let service = await startConductor(test.cloud, journal, doomed);
    try {
      const uuid = await scenario.before(test);
      await allIdle(test);
      doomed.arm();
      await scenario.ask(test, uuid);
      if (doom) {
        await doomed.died;
        await service.drain('killed', { withinMs: 0 });
        service = await startConductor(test.cloud, journal);
      }
      const look = async (): Promise<boolean> => {
        problems = await problemsOf(test, uuid, scenario);
        if (journal.entries().length > 0) problems = [...problems, 'requests that are still open'];
        return problems.length === 0;
      };
      await eventually(scenario.what, 5000, look).catch(() => undefined);
      state = (await outcomeOf(test, uuid)).state;
    } finally {
      await service.drain('the end');
    }
  });
  return { writes: doomed.writes, problems, state };
}

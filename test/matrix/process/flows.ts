import { bootRequest } from '#compute/api/boot-request.js';
import { unfence } from '#compute/api/fencing.js';
import { flavorById } from '#compute/api/flavors.js';
import { eventually } from '../../support/rigs/deadline.js';
import type { BootRequest, Flavor } from '@ebbgate/compute';
import type { Step } from './flow-trace.js';
import type { Party } from '../parties.js';
import type { HostName, MatrixCloud } from './matrix-cloud.js';
import { type Sight, sightOf, stateOf } from './sight.js';

/** Where it is while nothing is asked, and where a scheduler would have it go. */
export const SOURCE = 'a';
export const DESTINATION = 'b';
const LIMIT_MS = 20_000;
const CONSOLE = 'novnc';
const OTHER_IMAGE = 'other';

/** What is asked for, with what was done before. */
export interface Stage {
  readonly uuid: string;
  /** Of one that is not there yet. */
  readonly request?: BootRequest;
  /** Port of its console. */
  readonly port?: string;
}

/** What the end is judged by. */
export interface Ended {
  readonly sight: Sight;
  /** What who asked was answered; undefined when that one was refused. */
  readonly answer: unknown;
  readonly steps: readonly Step[];
}

/** Something that users ask of an instance. */
export interface Flow {
  readonly name: string;
  /** Those that have a part in it. */
  readonly parties: readonly Party[];
  /** Resolves with nothing being done. */
  readonly before: (cloud: MatrixCloud) => Promise<Stage>;
  /** Resolves with what the user is answered. */
  readonly ask: (cloud: MatrixCloud, stage: Stage) => Promise<unknown>;
  readonly isDone: (ended: Ended) => boolean;
  /** Is everything as it was before? Absent: what was asked for is done in any case, or ends in ERROR. */
  readonly isPutBack?: (sight: Sight) => boolean;
  /** A process that is killed may leave the instance in ERROR, with its fault. */
  readonly mayFail?: true;
  /** Another flow sends the same messages, or nearly. */
  readonly isLikeOthers?: true;
  /** A host that is dead while it goes on: what it has is left as it is. */
  readonly dead?: HostName;
  /** Brings everything up again that `before` has ended. */
  readonly after?: (cloud: MatrixCloud) => Promise<void>;
}

/** By the host that it is on alone. */
const ALONE: readonly Party[] = ['source', 'conductor'];
const NEW: readonly Party[] = ['destination', 'conductor'];
const MOVES: readonly Party[] = ['source', 'destination', 'both', 'conductor'];

const TINY = flavor('1');
const SMALL = flavor('2');

function flavor(id: string): Flavor {
  const found = flavorById(id);
  if (!found) throw new RangeError(`There is no flavor ${id}`);
  return found;
}

function orderOf(host: string | null): BootRequest {
  const owner = { userId: 'user', projectId: 'project' };
  return bootRequest({ name: 'vm', owner, flavor: TINY, image: 'image', host, zone: null, hints: {} });
}

async function unborn(): Promise<Stage> {
  const request = orderOf(null);
  return { uuid: request.instance.get('uuid'), request };
}

/** Resolves when it is in this state, with nothing being done by anyone. */
async function becomes(cloud: MatrixCloud, uuid: string, vm: string): Promise<void> {
  await eventually(`${uuid} is ${vm}`, LIMIT_MS, async () => {
    const sight = await sightOf(cloud, uuid);
    if (sight.vm === 'error' && vm !== 'error') throw new Error(`It is ${stateOf(sight)}, and not ${vm}`);
    if (sight.vm !== vm || sight.task !== null) return false;
    const isBusy = [SOURCE, DESTINATION].some((host) => cloud.tasksOf(host as HostName).length > 0);
    return !isBusy && (await cloud.openJournals()).length === 0;
  });
}

async function active(cloud: MatrixCloud): Promise<Stage> {
  const request = orderOf(SOURCE);
  const uuid = request.instance.get('uuid');
  await cloud.api.servers.boot({}, request);
  await becomes(cloud, uuid, 'active');
  return { uuid };
}

async function resized(cloud: MatrixCloud): Promise<Stage> {
  const stage = await active(cloud);
  await cloud.api.moves.resize({}, stage.uuid, SMALL);
  await becomes(cloud, stage.uuid, 'resized');
  return stage;
}

async function stopped(cloud: MatrixCloud): Promise<Stage> {
  const stage = await active(cloud);
  await cloud.api.actions.stop({}, stage.uuid);
  await becomes(cloud, stage.uuid, 'stopped');
  return stage;
}

async function withConsole(cloud: MatrixCloud): Promise<Stage> {
  const { uuid } = await active(cloud);
  const { port } = await cloud.api.actions.openConsole({}, uuid, 'vnc', CONSOLE);
  return { uuid, port: String(port) };
}

/** Its host has died, and an operator has said so. */
async function bereft(cloud: MatrixCloud): Promise<Stage> {
  const stage = await active(cloud);
  await cloud.stop(SOURCE, 'KILL');
  await cloud.records.services.update('compute', SOURCE, { forcedDown: true });
  return stage;
}

/** The dead host comes back, removes what was evacuated from it, and is called up again. */
async function comesBack(cloud: MatrixCloud): Promise<void> {
  const back = cloud.launch(SOURCE);
  await eventually(`${SOURCE} can be called up again`, LIMIT_MS, () =>
    unfence(cloud.records, SOURCE).then(
      () => true,
      () => false,
    ),
  );
  await back;
}

async function boot(cloud: MatrixCloud, { request }: Stage): Promise<void> {
  if (!request) throw new TypeError('There is nothing to be built');
  await cloud.api.servers.boot({}, request);
}

/** We are late with the event for the interface of the guest: it is sent once the host waits for it. */
async function bootByEvent(cloud: MatrixCloud, stage: Stage): Promise<void> {
  await cloud.network.hold(stage.uuid);
  await boot(cloud, stage);
  await eventually('the event waits to be sent, or nobody waits for it', LIMIT_MS, async () => {
    const held = (await cloud.records.networks.read(stage.uuid))?.['held'];
    const isWaiting = Array.isArray(held) && held.length > 0;
    return isWaiting || (await sightOf(cloud, stage.uuid)).vm !== 'building';
  });
  await cloud.network.release(stage.uuid);
}

async function migrateAndAbort(cloud: MatrixCloud, { uuid }: Stage): Promise<void> {
  await cloud.api.servers.liveMigrate({}, uuid, DESTINATION);
  await eventually('it runs, or is over', LIMIT_MS, async () => {
    return !['-', 'accepted', 'queued', 'preparing'].includes((await sightOf(cloud, uuid)).status);
  });
  await cloud.api.actions.abortLiveMigration({}, uuid);
}

async function askConsole(cloud: MatrixCloud, { uuid, port = '' }: Stage): Promise<readonly unknown[]> {
  const { actions } = cloud.api;
  return Promise.all([
    actions.consoleOutput({}, uuid),
    actions.validateConsole({}, uuid, { port, type: CONSOLE }),
  ]);
}

const is = (sight: Sight, vm: string, host?: string, status?: string): boolean =>
  sight.vm === vm &&
  sight.task === null &&
  (host === undefined || sight.host === host) &&
  (status === undefined || sight.status === status);
const isActiveAtSource = (sight: Sight): boolean => is(sight, 'active', SOURCE);
const isElsewhere = ({ host }: Sight): boolean => host !== null && host !== SOURCE;

export const FLOWS: readonly Flow[] = [
  {
    name: 'boot',
    parties: NEW,
    before: unborn,
    ask: boot,
    isDone: ({ sight }) => is(sight, 'active'),
    mayFail: true,
  },
  {
    name: 'external-event',
    parties: NEW,
    before: unborn,
    ask: bootByEvent,
    isDone: ({ sight }) => is(sight, 'active'),
    mayFail: true,
  },
  {
    name: 'live-migration',
    parties: MOVES,
    before: active,
    ask: ({ api }, { uuid }) => api.servers.liveMigrate({}, uuid, DESTINATION),
    isDone: ({ sight }) => is(sight, 'active', DESTINATION, 'completed'),
    isPutBack: isActiveAtSource,
    mayFail: true,
  },
  {
    name: 'live-migration-chosen',
    parties: MOVES,
    isLikeOthers: true,
    before: active,
    ask: ({ api }, { uuid }) => api.servers.liveMigrate({}, uuid, null),
    isDone: ({ sight }) => is(sight, 'active', undefined, 'completed') && isElsewhere(sight),
    isPutBack: isActiveAtSource,
    mayFail: true,
  },
  {
    name: 'live-migration-aborted',
    parties: MOVES,
    isLikeOthers: true,
    before: active,
    ask: migrateAndAbort,
    // The abort can come too late.
    isDone: ({ sight }) =>
      is(sight, 'active', SOURCE, 'cancelled') || is(sight, 'active', DESTINATION, 'completed'),
    isPutBack: isActiveAtSource,
    mayFail: true,
  },
  {
    name: 'cold-migration',
    parties: MOVES,
    before: active,
    ask: ({ api }, { uuid }) => api.moves.migrate({}, uuid, DESTINATION),
    isDone: ({ sight }) => is(sight, 'resized', DESTINATION, 'finished'),
    isPutBack: isActiveAtSource,
    mayFail: true,
  },
  {
    name: 'resize',
    parties: MOVES,
    isLikeOthers: true,
    before: active,
    ask: ({ api }, { uuid }) => api.moves.resize({}, uuid, SMALL),
    isDone: ({ sight }) => is(sight, 'resized', undefined, 'finished') && isElsewhere(sight),
    isPutBack: isActiveAtSource,
    mayFail: true,
  },
  {
    name: 'confirm',
    parties: ALONE,
    before: resized,
    ask: ({ api }, { uuid }) => api.moves.confirmResize({}, uuid),
    isDone: ({ sight }) => is(sight, 'active', DESTINATION, 'confirmed'),
  },
  {
    name: 'revert',
    parties: MOVES,
    before: resized,
    ask: ({ api }, { uuid }) => api.moves.revertResize({}, uuid),
    isDone: ({ sight }) => is(sight, 'active', SOURCE, 'reverted'),
    mayFail: true,
  },
  {
    name: 'rebuild',
    parties: ALONE,
    before: active,
    ask: ({ api }, { uuid }) => api.rebuilds.rebuild({}, uuid, OTHER_IMAGE),
    isDone: ({ sight, steps }) =>
      isActiveAtSource(sight) &&
      sight.instance.get('image_ref') === OTHER_IMAGE &&
      steps.some(({ label }) => label.includes('rebuild_spawning')),
    mayFail: true,
  },
  {
    name: 'evacuate',
    parties: NEW,
    before: bereft,
    ask: ({ api }, { uuid }) => api.rebuilds.evacuate({}, uuid),
    isDone: ({ sight }) => is(sight, 'active', undefined, 'done') && isElsewhere(sight),
    mayFail: true,
    dead: SOURCE,
    after: comesBack,
  },
  {
    name: 'snapshot',
    parties: ALONE,
    isLikeOthers: true,
    before: active,
    ask: ({ api }, { uuid }) => api.actions.snapshot({}, uuid),
    isDone: ({ sight, answer }) => isActiveAtSource(sight) && sight.images.join() === answer,
    isPutBack: (sight) => isActiveAtSource(sight) && sight.images.length === 0,
  },
  {
    name: 'stop',
    parties: ALONE,
    isLikeOthers: true,
    before: active,
    ask: ({ api }, { uuid }) => api.actions.stop({}, uuid),
    isDone: ({ sight }) => is(sight, 'stopped', SOURCE),
  },
  {
    name: 'start',
    parties: ALONE,
    isLikeOthers: true,
    before: stopped,
    ask: ({ api }, { uuid }) => api.actions.start({}, uuid),
    isDone: ({ sight }) => isActiveAtSource(sight),
  },
  {
    name: 'reboot',
    parties: ALONE,
    isLikeOthers: true,
    before: active,
    ask: ({ api }, { uuid }) => api.actions.reboot({}, uuid),
    isDone: ({ sight, steps }) =>
      isActiveAtSource(sight) && steps.some(({ label }) => label.includes('reboot_started')),
  },
  {
    name: 'delete',
    parties: ALONE,
    isLikeOthers: true,
    before: active,
    ask: ({ api }, { uuid }) => api.actions.delete({}, uuid),
    isDone: ({ sight }) => is(sight, 'deleted'),
  },
  {
    name: 'console',
    parties: ALONE,
    isLikeOthers: true,
    before: withConsole,
    ask: askConsole,
    isDone: ({ answer }) =>
      Array.isArray(answer) && String(answer[0]).includes('running') && answer[1] === true,
    isPutBack: isActiveAtSource, // nothing of it is recorded
  },
];

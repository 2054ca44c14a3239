import type { RequestContext } from '@ebbgate/core';
import { CONFIRMED, KEPT, REVERTED, TAKEN_BACK, wordsOf } from '../../unit/compute/cross-cell-words.js';
import { bereft } from '../../unit/compute/evacuation-words.js';
import { BIGGER, bootResized, outcomeOf } from '../../unit/compute/resize-words.js';
import { DEST, SOURCE, type TestCloud } from '../../unit/compute/test-cloud.js';
import { MOVED, type TwoCells } from '../../unit/compute/two-cells.js';
import { problemsOf } from '../../unit/compute/write-scenarios.js';
import { type Party, PARTIES } from '../parties.js';
import { CONDUCTOR, type Site } from './site.js';

/** What there is of an instance. */
export interface Sight {
  /** How it is: the same for two ends that are the same to its user. */
  readonly words: string;
  /** What is wrong with it, and with all that belongs to it. */
  readonly problems: readonly string[];
}

/** One of the flows of `compute-rpc.md` 3. */
export interface Flow {
  readonly name: string;
  /** Those that have a part in it. */
  readonly parties: readonly Party[];
  readonly cells: boolean;
  /** What is there before it is asked for; resolves with the uuid of the instance. */
  readonly before: (site: Site) => Promise<string>;
  readonly ask: (site: Site, uuid: string) => Promise<unknown>;
  readonly look: (site: Site, uuid: string) => Promise<Sight>;
}

/** A flow within a cell. */
interface FlowInCell {
  readonly name: string;
  readonly before: (test: TestCloud) => Promise<string>;
  readonly ask: (test: TestCloud, uuid: string) => Promise<unknown>;
  readonly parties: readonly Party[];
  /** What the instance may be in the end when one of them was killed, as `vm/task`. */
  readonly ends: readonly string[];
}

/** The processes that a party is. */
export const MEMBERS: Readonly<Record<Party, readonly string[]>> = {
  source: [SOURCE],
  destination: [DEST],
  both: [SOURCE, DEST],
  conductor: [CONDUCTOR],
};

/** Whoever has to do with it may be away for minutes. */
const LONG_MS = 600_000;
/** Of what one host does by itself. */
const AT_HOME: readonly Party[] = ['source', 'conductor'];
const ANYWHERE = ['active/-', 'error/-'];

const ctx = ({ recorded }: TestCloud): RequestContext => recorded.context;
const active = (test: TestCloud): Promise<string> => test.bootActive();
const unborn = async (test: TestCloud): Promise<string> =>
  test.recorded.bootRequest(1, SOURCE).instance.get('uuid');
/** Something was asked for, and has been done. */
const after =
  (state: string, ask: FlowInCell['ask'], before: FlowInCell['before'] = active): FlowInCell['before'] =>
  async (test) => {
    const uuid = await before(test);
    await ask(test, uuid);
    await test.becomes(uuid, state);
    return uuid;
  };

const stop: FlowInCell['ask'] = (test, uuid) => test.cloud.actions.stop(ctx(test), uuid);
const shelve: FlowInCell['ask'] = (test, uuid) => test.cloud.controls.shelve(ctx(test), uuid);
const resize: FlowInCell['ask'] = (test, uuid) => test.cloud.moves.resize(ctx(test), uuid, BIGGER);

const IN_CELL: readonly FlowInCell[] = [
  { name: 'boot', before: unborn, ask: (test) => test.boot(), parties: AT_HOME, ends: ANYWHERE },
  {
    name: 'live-migration',
    before: active,
    ask: (test, uuid) => test.migrate(uuid),
    parties: PARTIES,
    ends: ANYWHERE,
  },
  {
    name: 'live-migration-aborted',
    before: active,
    ask: async (test, uuid) => {
      await test.migrate(uuid);
      await test.watch.migration(uuid, (one) => one.get('status') === 'running', { timeoutMs: LONG_MS });
      await test.cloud.actions.abortLiveMigration(ctx(test), uuid);
    },
    parties: PARTIES,
    ends: ANYWHERE,
  },
  {
    name: 'cold-migration',
    before: active,
    ask: (test, uuid) => test.cloud.moves.migrate(ctx(test), uuid, DEST),
    parties: PARTIES,
    ends: ['resized/-', ...ANYWHERE],
  },
  { name: 'resize', before: active, ask: resize, parties: PARTIES, ends: ['resized/-', ...ANYWHERE] },
  {
    name: 'confirm',
    before: bootResized,
    ask: (test, uuid) => test.cloud.moves.confirmResize(ctx(test), uuid),
    parties: PARTIES,
    ends: ANYWHERE,
  },
  {
    name: 'revert',
    before: bootResized,
    ask: (test, uuid) => test.cloud.moves.revertResize(ctx(test), uuid),
    parties: PARTIES,
    ends: ANYWHERE,
  },
  {
    name: 'rebuild',
    before: active,
    ask: (test, uuid) => test.cloud.rebuilds.rebuild(ctx(test), uuid),
    parties: AT_HOME,
    ends: ANYWHERE,
  },
  {
    name: 'evacuate',
    before: bereft,
    ask: (test, uuid) => test.cloud.rebuilds.evacuate(ctx(test), uuid),
    parties: ['destination', 'conductor'],
    ends: ANYWHERE,
  },
  { name: 'stop', before: active, ask: stop, parties: AT_HOME, ends: ['stopped/-'] },
  {
    name: 'start',
    before: after('stopped/-', stop),
    ask: (test, uuid) => test.cloud.actions.start(ctx(test), uuid),
    parties: AT_HOME,
    ends: ['active/-'],
  },
  {
    name: 'reboot',
    before: active,
    ask: (test, uuid) => test.cloud.actions.reboot(ctx(test), uuid, 'hard'),
    parties: AT_HOME,
    ends: ['active/-'],
  },
  {
    name: 'snapshot',
    before: active,
    ask: (test, uuid) => test.cloud.actions.snapshot(ctx(test), uuid),
    parties: AT_HOME,
    ends: ['active/-'],
  },
  {
    name: 'delete',
    before: active,
    ask: (test, uuid) => test.cloud.actions.delete(ctx(test), uuid),
    parties: AT_HOME,
    ends: ['deleted/-'],
  },
  {
    name: 'delete-resized',
    before: bootResized,
    ask: (test, uuid) => test.cloud.actions.delete(ctx(test), uuid),
    parties: PARTIES,
    ends: ['deleted/-'],
  },
  {
    name: 'shelve',
    before: active,
    ask: shelve,
    parties: AT_HOME,
    ends: ['shelved_offloaded/-', 'active/-', 'stopped/-'],
  },
  {
    name: 'unshelve',
    before: after('shelved_offloaded/-', shelve),
    ask: (test, uuid) => test.cloud.controls.unshelve(ctx(test), uuid),
    parties: PARTIES,
    ends: ['active/-', 'shelved_offloaded/-'],
  },
  {
    name: 'console',
    before: active,
    ask: (test, uuid) => test.cloud.actions.consoleOutput(ctx(test), uuid, 1),
    parties: AT_HOME,
    ends: ['active/-'],
  },
];

const BETWEEN_CELLS: readonly Flow[] = [
  {
    name: 'cross-cell-resize',
    parties: PARTIES,
    cells: true,
    before: ({ test }) => test.bootActive(),
    ask: ({ both }, uuid) => both.resize(uuid),
    look: ({ both }, uuid) => lookAtBoth(both, uuid),
  },
  {
    name: 'cross-cell-confirm',
    parties: PARTIES,
    cells: true,
    before: bootMoved,
    ask: ({ both }, uuid) => both.confirm(uuid),
    look: ({ both }, uuid) => lookAtBoth(both, uuid),
  },
  {
    name: 'cross-cell-revert',
    parties: PARTIES,
    cells: true,
    before: bootMoved,
    ask: ({ both }, uuid) => both.revert(uuid),
    look: ({ both }, uuid) => lookAtBoth(both, uuid),
  },
];

export const FLOWS: readonly Flow[] = [...IN_CELL.map(inCell), ...BETWEEN_CELLS];

function inCell({ ends, before, ask, ...flow }: FlowInCell): Flow {
  return {
    ...flow,
    cells: false,
    before: ({ test }) => before(test),
    ask: ({ test }, uuid) => ask(test, uuid),
    look: async ({ test }, uuid) => {
      const { state, host, status } = await outcomeOf(test, uuid);
      const problems = await problemsOf(test, uuid, { ends });
      return { words: `${state}@${String(host)} ${status}`, problems };
    },
  };
}

function bootMoved({ both }: Site): Promise<string> {
  return both.bootMoved();
}

const ENDS_OF_CELLS = new Map([
  [wordsOf(TAKEN_BACK), 'taken back'],
  [wordsOf(KEPT), 'error/-, kept at its source'],
  [wordsOf(MOVED), 'moved'],
  [wordsOf(CONFIRMED), 'confirmed'],
  [wordsOf(REVERTED), 'reverted'],
]);

async function lookAtBoth(both: TwoCells, uuid: string): Promise<Sight> {
  const outcome = wordsOf(await both.outcome(uuid));
  const words = ENDS_OF_CELLS.get(outcome);
  return words === undefined ? { words: outcome, problems: [outcome] } : { words, problems: [] };
}

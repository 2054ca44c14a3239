import type { Flavor, MigrationStatus } from '@ebbgate/compute';
import type { CloudOptions } from '#compute/main-job/cloud.js';
import { expect } from 'chai';
import { bytesDriver } from '../../support/bytes-driver.js';
import { deferred } from '../../support/deferred.js';
import { innerOf, textOf } from '../../support/recorded.js';
import type { Capture } from './captures.js';
import { allIdle, BIGGER as SMALLER, type Outcome, outcomeOf, resized, untouched } from './resize-words.js';
import { DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

/** Id of the instance of the recordings, of its migration, and of its port. */
const INSTANCE = 'a1a1a1a1-0000-4000-8000-000000000001';
const MIGRATION = 'b2b2b2b2-0000-4000-8000-000000000002';
const PORT = 'e4e4e4e4-0000-4000-8000-000000000004';
/** MiB of the recorded flavor. */
const SIZE = 2048;
/** What instances are given here, as was recorded. */
const BIGGER: Flavor = SMALLER.clone().update({ memory_mb: SIZE, root_gb: 20 });

/** A flow of ours, of which one message is lost; the recorded one takes its place. */
export interface CapturedFlow {
  /** Where the recorded message goes; default {@link SOURCE}. */
  readonly host?: string;
  /** Asks for the flow. */
  readonly until: (test: TestCloud) => Promise<void>;
  /** Resolves when the flow has come to its end. */
  readonly end: (test: TestCloud) => Promise<unknown>;
}

/** Runs a flow in a cloud; `replay` sends the recorded message when that of ours is lost. */
export async function withFlow(
  flow: CapturedFlow,
  { method }: Capture,
  options: Pick<CloudOptions, 'logger'>,
  replay: (test: TestCloud) => Promise<void>,
): Promise<void> {
  const lost = deferred();
  let isToCome = true;
  const driver = bytesDriver(({ kind }, message) => {
    const isToHost = kind === 'server'; // conductors have methods of the same names
    if (!isToCome || !isToHost || innerOf(textOf(message))['method'] !== method) return undefined;
    isToCome = false;
    lost.resolve();
    return 'lost';
  });
  // No host finds out by itself what it has not been told.
  const still = { portId: () => PORT, recheckMs: 3_600_000 };
  await withCloud({ ...options, ...still, drivers: [driver] }, async (test) => {
    recordMoves(test);
    await flow.until(test);
    await lost.promise;
    await replay(test);
    await flow.end(test);
  });
}

/** Its next move has the id that was recorded. */
function recordMoves(test: TestCloud): void {
  const { migrations } = test.cloud.records;
  const create = migrations.create.bind(migrations);
  migrations.create = (migration) => create(migration.pristine().update({ uuid: MIGRATION }));
}

const movesLive: CapturedFlow['until'] = async (test) => {
  await test.migrate(await test.bootActive());
};

const resizes: CapturedFlow['until'] = async (test) => {
  await test.cloud.moves.resize(test.recorded.context, await test.bootActive(), BIGGER);
};

/** Resizes, and then asks for the end. */
function resizesAnd(ends: 'confirmResize' | 'revertResize'): CapturedFlow['until'] {
  return async (test) => {
    await resizes(test);
    await test.becomes(INSTANCE, 'resized/-');
    await test.idle(DEST);
    await test.cloud.moves[ends](test.recorded.context, INSTANCE);
  };
}

/** What is left at the end of a flow. */
function isLeft(status: MigrationStatus, outcome: Outcome): CapturedFlow['end'] {
  return async (test) => {
    await test.migrationBecomes(INSTANCE, status);
    await test.watch.instance(INSTANCE, (one) => one.get('task_state') === null, { timeoutMs: 4000 });
    await allIdle(test);
    expect(await outcomeOf(test, INSTANCE)).to.deep.equal(outcome);
  };
}

const isResized = isLeft('finished', resized(SOURCE, DEST, SIZE));

/** By file; the rows of casts that begin or finish something. */
export const CAPTURED_FLOWS: ReadonlyMap<string, CapturedFlow> = new Map<string, CapturedFlow>([
  ['v26-live_migration', { until: movesLive, end: isLeft('completed', untouched(DEST, 'completed')) }],
  [
    'v26-rollback_live_migration_at_destination',
    {
      host: DEST,
      until: async (test) => {
        test.virt(SOURCE).steps.failNext('copy-memory');
        await movesLive(test);
      },
      end: isLeft('failed', untouched(SOURCE, 'failed')),
    },
  ],
  ['v26-prep_resize', { host: DEST, until: resizes, end: isResized }],
  ['v26-resize_instance', { until: resizes, end: isResized }],
  ['v26-finish_resize', { host: DEST, until: resizes, end: isResized }],
  [
    'v26-confirm_resize',
    {
      until: resizesAnd('confirmResize'),
      end: isLeft('confirmed', {
        ...untouched(DEST, 'confirmed'),
        allocations: [`instance@${DEST}:${SIZE}`],
        size: SIZE,
      }),
    },
  ],
  [
    'v26-revert_resize',
    { host: DEST, until: resizesAnd('revertResize'), end: isLeft('reverted', untouched(SOURCE, 'reverted')) },
  ],
  [
    'v26-finish_revert_resize',
    { until: resizesAnd('revertResize'), end: isLeft('reverted', untouched(SOURCE, 'reverted')) },
  ],
  [
    'v26-rebuild_instance',
    {
      host: DEST,
      until: async (test) => {
        await test.bootActive();
        await test.crash(SOURCE);
        await test.cloud.rebuilds.evacuate(test.recorded.context, INSTANCE);
      },
      end: async (test) => {
        await test.migrationBecomes(INSTANCE, 'done');
        await test.becomes(INSTANCE, 'active/-');
        expect(await test.stateOf(INSTANCE)).to.equal(`active/-@${DEST}`);
        expect(test.virt(DEST).machine.state(INSTANCE)).to.equal('running');
      },
    },
  ],
  [
    'v26-external_instance_event',
    {
      until: async (test) => {
        await test.boot();
      },
      end: async (test) => {
        await test.becomes(INSTANCE, 'active/-');
        expect(test.virt(SOURCE).machine.state(INSTANCE)).to.equal('running');
      },
    },
  ],
]);

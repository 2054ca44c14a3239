import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { HeldOperations } from '#compute/compute/held-operations.js';
import type { HostContext } from '#compute/compute/host-context.js';
import { CrossCellEngagement } from '#compute/compute/operations/cross-cell-engagement.js';
import type { ResizeJob } from '#compute/compute/operations/resize-job.js';
import { Migration } from '@ebbgate/compute';

const HOST = 'compute-b';

/** What an engagement looks at, and its look. */
function engaged(): { readonly look: () => Promise<boolean>; away: boolean } {
  const migration = Migration.create({ status: 'migrating', dest_compute: HOST, updated_at: new Date(0) });
  const state = { look: (): Promise<boolean> => Promise.reject(new Error('not opened')), away: false };
  const get = (): Promise<Migration> =>
    state.away ? Promise.reject(new Error('no database')) : Promise.resolve(migration);
  // The parts of a host, and of its operations, that an engagement uses.
  const host = { host: HOST, records: { migrations: { get } }, locks: { isBusy: () => false } };
  const held = {
    open: (_key: string, _record: unknown, isOver: () => Promise<boolean>) => {
      state.look = isOver;
    },
  };
  const job = { uuid: 'i', migrationUuid: 'm', context: {} };
  new CrossCellEngagement(host as unknown as HostContext, held as unknown as HeldOperations).open(
    job as unknown as ResizeJob, // likewise
  );
  return state;
}

async function looks(look: () => Promise<boolean>, count: number): Promise<readonly boolean[]> {
  const seen: boolean[] = [];
  for (let done = 0; done < count; done += 1) seen.push(await look());
  return seen;
}

describe('what a destination in another cell holds open', () => {
  it('is over when nobody has touched its record for so many looks (GS-100)', async () => {
    const state = engaged();
    expect(await looks(state.look, 7)).to.deep.equal([false, false, false, false, false, false, true]);
  });

  it('counts no look that failed, nor what came before: nobody could touch the record meanwhile (GS-100)', async () => {
    const state = engaged();
    expect(await looks(state.look, 6)).to.not.include(true);
    state.away = true;
    expect(await state.look().catch((error: unknown) => error)).to.be.instanceOf(Error);
    state.away = false;
    expect(await looks(state.look, 6)).to.deep.equal([false, false, false, false, false, true]);
  });
});

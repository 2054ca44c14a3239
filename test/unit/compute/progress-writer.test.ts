import type { MigrationProgress } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ProgressWriter } from '#compute/compute/operations/progress-writer.js';

const NONE = { total: 0, processed: 0, remaining: 0 };
const at = (processed: number): MigrationProgress => ({
  memory: { total: 10, processed, remaining: 10 - processed },
  disk: NONE,
});

describe('writing progress', () => {
  it('writes one at a time, skips what is overtaken, and ends with the last', async () => {
    const written: number[] = [];
    let going = 0;
    const writer = new ProgressWriter(
      async ({ memory: { processed } }) => {
        going += 1;
        expect(going).to.equal(1);
        await Promise.resolve();
        written.push(processed);
        going -= 1;
      },
      () => undefined,
    );
    for (let processed = 1; processed <= 10; processed += 1) writer.report(at(processed));
    await writer.flush();
    expect(written).to.deep.equal([1, 10]);
  });

  it('tells of a write that failed, and goes on', async () => {
    const errors: unknown[] = [];
    const writer = new ProgressWriter(
      ({ memory: { processed } }) => (processed === 1 ? Promise.reject(new Error('no')) : Promise.resolve()),
      (error) => errors.push(error),
    );
    writer.report(at(1));
    await writer.flush();
    writer.report(at(2));
    await writer.flush();
    expect(errors).to.have.length(1);
  });
});

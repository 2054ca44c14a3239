import { expect } from 'chai';
import { describe, it } from 'mocha';
import { silentLogger } from '@ebbgate/core';
import { UndoStack } from '#compute/conductor/undo-stack.js';

describe('taking steps back', () => {
  it('takes the last first, each once, and goes on when one fails', async () => {
    const failed: unknown[] = [];
    const logger = { ...silentLogger, error: (fields: object) => failed.push(fields) };
    const undo = new UndoStack(logger);
    const taken: number[] = [];
    undo.add('first', async () => taken.push(1));
    undo.add('second', () => Promise.reject(new Error('no')));
    undo.add('third', async () => taken.push(3));
    await undo.undo();
    await undo.undo();
    expect(taken).to.deep.equal([3, 1]);
    expect(failed).to.have.length(1);
    expect(failed[0]).to.include({ step: 'second' });
  });
});

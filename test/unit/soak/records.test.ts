import { appendFileSync } from 'node:fs';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { MessageDeliveryError } from '@ebbgate/core';
import { failureOf, notebook, readRecords } from '../../soak/records.js';
import { Tally } from '../../soak/tally.js';
import { type PrivateFolder, privateFolder } from '../../support/rigs/private-folder.js';

describe('the records of the soak', () => {
  let folder: PrivateFolder;
  let file = '';

  beforeEach(async () => {
    folder = await privateFolder('records');
    file = `${folder.path}/one.jsonl`;
  });

  afterEach(() => folder.remove());

  it('are there as soon as they are written, but for a line that a death has cut off (GS-5)', () => {
    const notes = notebook(file);
    notes.note({ is: 'begun', id: 'a' });
    notes.note({ is: 'handled', id: 'a' });
    appendFileSync(file, '{"at":1,"is":"beg');
    expect(readRecords(file).map(({ is }) => is)).to.deep.equal(['begun', 'handled']);
  });

  it('are counted while they grow, each once (GS-5)', () => {
    const notes = notebook(file);
    const tally = new Tally();
    notes.note({ is: 'begun', id: 'a' });
    appendFileSync(file, '{"at":1,"is":"begun"');
    tally.read([file]);
    expect(tally.of('begun')).to.equal(1);
    appendFileSync(file, ',"id":"b"}\n');
    notes.note({ is: 'handled', id: 'a' });
    tally.read([file]);
    expect([tally.of('begun'), tally.of('handled'), tally.of('sent')]).to.deep.equal([2, 1, 0]);
  });

  it('tell code and outcome of an error, and that something else has none (GS-5)', () => {
    const error = new MessageDeliveryError('refused', { outcome: 'unknown' });
    expect(failureOf(error)).to.deep.include({ code: 'ERR_DELIVERY', outcome: 'unknown' });
    expect(failureOf('text')).to.deep.equal({ code: '', outcome: undefined, text: 'text' });
  });
});

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { captureNames, readCapture } from './replay/capture.js';
import { CASES, isReplayed } from './replay/cases.js';
import { recordedSends } from './replay/client.js';
import { recordedRequests } from './replay/server.js';

/** The sources, beside which the compiled tests are built. */
const SOURCES = new URL('../../../test/interop/', import.meta.url);

describe('the table of recorded cases', () => {
  it('has a row for each file, and a file for each row', () => {
    const files = captureNames().filter((name) => !name.includes('notify_')); // of `captures-notify.test.ts`
    expect(Object.keys(CASES).toSorted()).to.deep.equal(files.toSorted());
    expect(files).to.have.lengthOf(69);
  });

  it('leaves no send, request or step of a case to nobody', () => {
    for (const [name, cover] of Object.entries(CASES)) {
      const capture = readCapture(name);
      const parts = {
        client: recordedSends(capture).length,
        server: recordedRequests(capture).reduce((sum, { requests }) => sum + requests.length, 0),
      };
      for (const part of ['client', 'server'] as const) {
        if (parts[part] === 0) expect(cover.replays, name).to.not.include(part);
        else if (!isReplayed(cover, part)) expect(cover.also, `${name}: ${part}`).to.be.a('string');
      }
    }
  });

  it('names tests that are there', () => {
    for (const [name, { also }] of Object.entries(CASES)) {
      if (also === undefined) continue;
      const text = readFileSync(new URL(also, SOURCES), 'utf8');
      expect(text, `${also} has no test of ${name}`).to.match(new RegExp(`['"]${name}['":]|['\`]${name}: `));
    }
  });
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigurationError } from '@ebbgate/core';
import { readRoutingFile } from '#notify/drivers/routing-file.js';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { turn } from '../../support/deferred.js';
import { HOSTILE_NAMES, hostileBodies } from '../../support/hostile-bytes.js';
import { Prototypes } from '../../support/prototypes.js';
import { faultSeed } from '../../support/rigs/random-faults.js';

const LEVELS = Array.from({ length: 30 }, (_, level) => level);
/** Each line stands for nine of the line before. */
const LAUGHS = LEVELS.map(
  (level) =>
    `a${level}: &a${level} [${Array<string>(9)
      .fill(`*a${level - 1}`)
      .join(',')}]`,
);

const YAML = [
  ['a0: &a0 [x]', ...LAUGHS.slice(1)].join('\n'),
  'a: &a\n  b: *a',
  `${'- '.repeat(2_000)}x`,
  '{a: '.repeat(2_000),
  '!!js/function "function () { throw 1 }"',
  '<<: {__proto__: {polluted: 1}}',
  '__proto__:\n  polluted:\n    accepted_events: ["*"]',
  'g:\n  constructor:\n    accepted_events: ["[", "(?=a)", "\\\\1"]',
  'g:\n  log:\n    __proto__: {accepted_events: [a]}',
  '? [complex]\n: x',
  '%YAML 9.9\n---\na',
  ...HOSTILE_NAMES.map(
    (name) =>
      `${JSON.stringify(name)}: {${JSON.stringify(name)}: {accepted_events: [${JSON.stringify(name)}]}}`,
  ),
].map((text) => Buffer.from(text));

describe('a hostile routing file', () => {
  const prototypes = new Prototypes();
  let folder = '';

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'ebbgate-routing-'));
  });
  after(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it('is refused with one error, or is read as the names that are in it; nothing of it is printed (CORE-09, SEC-04, SEC-06)', async () => {
    const path = join(folder, 'routing.yaml');
    let refused = 0;
    const warnings: unknown[] = [];
    const onWarning = (warning: unknown): void => void warnings.push(warning);
    process.on('warning', onWarning);
    for (const content of [...YAML, ...hostileBodies(200, faultSeed())]) {
      writeFileSync(path, content);
      try {
        for (const { driver } of readRoutingFile(path)) expect(driver).to.be.a('string');
      } catch (error) {
        expect(error).to.be.instanceOf(ConfigurationError);
        refused += 1;
      }
    }
    await turn(); // warnings are told in the next one
    process.removeListener('warning', onWarning);
    expect(warnings).to.deep.equal([]);
    expect(refused).to.be.above(100);
    expect(prototypes.changes()).to.deep.equal([]);
  }).timeout(60_000);
});

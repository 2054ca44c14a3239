import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';

const root = process.cwd();
const TITLE = /\b(?:it|describe|recordsContract)\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g;
const CITED = /`([\w/.-]+\.ts)`(?: “([^”]+)”)?/g;
const ID = /\b(?:GS|FD)-\d+\b/g;
const EXCUSE = /Not shown yet: |Cannot be tested: |As \d/;
const STATES = ['shown', 'in part', 'not yet'];

/** The rows of the tables behind a heading, cell by cell. */
function rowsBehind(heading: string): readonly (readonly string[])[] {
  const page = readFileSync(join(root, 'docs/spec-coverage.md'), 'utf8');
  const [, text = ''] = page.split(`\n## ${heading}`);
  const [part = ''] = text.split('\n## ');
  const lines = part.split('\n').filter((line) => /^\| (?:\d|GS|FD)/.test(line));
  return lines.map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim())).map(([, ...cells]) => cells);
}

interface Titles {
  readonly titles: readonly string[];
  /** Ids in titles, and in what titles are made of. */
  readonly ids: ReadonlySet<string>;
}

const read = new Map<string, Titles>();

/** Of a file below `test`; it must be there. */
function titlesOf(file: string): Titles {
  const known = read.get(file);
  if (known) return known;
  const source = readFileSync(join(root, 'test', file), 'utf8');
  const titles = [...source.matchAll(TITLE)].map(([, , title = '']) => title.replaceAll(/\\(.)/g, '$1'));
  const named = titles.some((title) => title.includes('${')) ? source : titles.join('\n');
  const found: Titles = { titles, ids: new Set(named.match(ID)) };
  read.set(file, found);
  return found;
}

function numbered(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${String(index + 1)}`);
}

describe('documentation: what was asked for, and the tests that show it', () => {
  const rules = rowsBehind('The ids');

  for (const document of ['000', '001', '003']) {
    const rows = rowsBehind(`${document}: `);

    it(`${document}: numbers its sentences, and each has tests that are there, or says why not`, () => {
      expect(rows.length).to.be.above(10);
      expect(rows.map(([number]) => number)).to.deep.equal(numbered(`${document}.`, rows.length));
      const missing: string[] = [];
      for (const [number = '', , , shown = ''] of rows) {
        const cited = [...shown.matchAll(CITED)].filter(([, , part]) => part !== undefined);
        for (const [, file = '', part = ''] of cited) {
          if (!titlesOf(file).titles.some((title) => title.includes(part)))
            missing.push(`${number}: ${file} has no “${part}”`);
        }
        if (cited.length === 0 && !EXCUSE.test(shown)) missing.push(`${number}: neither a test nor a reason`);
      }
      expect(missing, missing.join('\n')).to.deep.equal([]);
    });

    it(`${document}: cites for each rule that it names a test file in which a title has its id`, () => {
      const known = new Set(rules.map(([id]) => id));
      const strange: string[] = [];
      for (const [number = '', , ids = '', shown = ''] of rows) {
        const files = [...shown.matchAll(CITED)].flatMap(([, file = '', part]) => (part ? [file] : []));
        for (const id of ids.match(ID) ?? []) {
          if (!known.has(id)) strange.push(`${number}: there is no ${id}`);
          const isNamed = files.some((file) => titlesOf(file).ids.has(id));
          if (!isNamed && !EXCUSE.test(shown)) strange.push(`${number}: no title names ${id}`);
        }
      }
      expect(strange, strange.join('\n')).to.deep.equal([]);
    });
  }

  it('has each rule once, in order', () => {
    const expected = [...numbered('GS-', 106), ...numbered('FD-', 37)];
    expect(rules.map(([id]) => id)).to.deep.equal(expected);
  });

  it('names for each rule that is shown a test file in which a title has its id, and else what is missing', () => {
    const wrong: string[] = [];
    for (const [id = '', , state = '', shown = ''] of rules) {
      if (!STATES.includes(state)) wrong.push(`${id}: ${state}`);
      const files = [...shown.matchAll(CITED)].map(([, file = '']) => titlesOf(file));
      if (state !== 'not yet' && !files.some(({ ids }) => ids.has(id)))
        wrong.push(`${id}: no title names it`);
      if (state !== 'shown' && !shown.includes('missing')) wrong.push(`${id}: no reason`);
    }
    expect(wrong, wrong.join('\n')).to.deep.equal([]);
  });
});

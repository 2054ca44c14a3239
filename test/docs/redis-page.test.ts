import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { readOptions } from '#driver-redis/option-table.js';
import { SCRIPTS } from '#driver-redis/scripts.js';

const ROOT = new URL('../../../', import.meta.url);
const PAGES = [
  'docs/operations/redis.md',
  'packages/driver-redis/README.md',
  'docs/decisions/0013-redis-lists.md',
];

describe('the pages about Redis', () => {
  const text = readFileSync(new URL('docs/operations/redis.md', ROOT), 'utf8');
  const rowsOf = (heading: string): string[] => {
    const [, part = ''] = text.split(`\n## ${heading}\n`);
    return (part.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('| `'));
  };
  const cell = (row: string, index: number): string =>
    (row.split('|')[index] ?? '').replaceAll('`', '').trim();

  it('have a row for each option with its default, and none for another (CORE-09)', () => {
    const { values } = readOptions({}, new Map());
    const rows = new Map(rowsOf('Options').map((row) => [cell(row, 1), cell(row, 2)]));
    expect(Object.fromEntries(rows)).to.deep.equal(
      Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)])),
    );
  });

  it('have a row for each script', () => {
    const named = rowsOf('What the store runs').map((row) => cell(row, 1));
    expect(named.toSorted()).to.deep.equal(SCRIPTS.map(({ name }) => name).toSorted());
  });

  it('link to nothing that is not there', () => {
    for (const page of PAGES) {
      const base = new URL(page, ROOT);
      for (const [, path = ''] of readFileSync(base, 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g))
        expect(existsSync(new URL(path, base)), `${page}: ${path}`).to.equal(true);
    }
  });
});

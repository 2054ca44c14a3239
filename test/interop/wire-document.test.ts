import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { describe, it } from 'mocha';

const ROOT = new URL('../../../', import.meta.url);
const TESTS = 'test/interop/';
const NUMBER = /\bW(\d+)\b/g;

interface Row {
  readonly number: number;
  readonly cells: readonly string[];
}

/** The rows of the one table of deviations. */
function rows(): Row[] {
  const text = readFileSync(new URL('docs/wire.md', ROOT), 'utf8');
  return text
    .split('\n')
    .filter((line) => /^\| W\d+ /.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, number = '', ...cells]) => ({ number: Number(number.slice(1)), cells: cells.slice(0, -1) }));
}

/** The numbers in the titles of each test file. */
function titles(): ReadonlyMap<string, ReadonlySet<number>> {
  const files = readdirSync(new URL(TESTS, ROOT)).filter((file) => file.endsWith('.test.ts'));
  return new Map(
    files.map((file) => {
      const text = readFileSync(new URL(TESTS + file, ROOT), 'utf8');
      const found = [...text.matchAll(/(?:describe|it)\(\s*['"`]([^]*?)['"`],/g)].map(
        ([, title = '']) => title,
      );
      return [file, new Set(found.flatMap((title) => [...title.matchAll(NUMBER)].map(([, n]) => Number(n))))];
    }),
  );
}

describe('docs/wire.md', () => {
  it('numbers the deviations from 1 on, each with its reason', () => {
    const found = rows();
    expect(found.map(({ number }) => number)).to.deep.equal(found.map((_row, index) => index + 1));
    for (const { number, cells } of found) {
      expect(cells, `W${String(number)}`).to.have.lengthOf(4);
      for (const cell of cells) expect(cell, `W${String(number)}`).to.not.equal('');
    }
  });

  it('names for each the test that shows it, and every number that a test names is there', () => {
    const shown = titles();
    for (const { number, cells } of rows()) {
      const files = [...(cells[3] ?? '').matchAll(/`([^`]+)`/g)].map(([, file = '']) => file);
      expect(files, `W${String(number)}`).to.not.have.lengthOf(0);
      for (const file of files)
        expect([...(shown.get(file) ?? [])], `${file} of W${String(number)}`).to.include(number);
    }
    const inTests = new Set([...shown.values()].flatMap((numbers) => [...numbers]));
    expect([...inTests].toSorted((a, b) => a - b)).to.deep.equal(rows().map(({ number }) => number));
  });

  it('links to nothing that is not there', () => {
    const text = readFileSync(new URL('docs/wire.md', ROOT), 'utf8');
    for (const [, path = ''] of text.matchAll(/\]\((?!https?:)([^)#]+)/g))
      expect(existsSync(new URL(`docs/${path}`, ROOT)), path).to.equal(true);
  });
});

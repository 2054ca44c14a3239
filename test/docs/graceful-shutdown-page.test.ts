import { readdirSync, readFileSync } from 'node:fs';
import { budgetsFromConfig, defaultBudgets, exitCodes } from '@ebbgate/service';
import { expect } from 'chai';
import { describe, it } from 'mocha';

const ROOT = new URL('../../../', import.meta.url);
const textOf = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');

/** The cells of each row of the table that has this heading, without the heading. */
function rowsUnder(page: string, heading: string): readonly (readonly string[])[] {
  const part = page.slice(page.indexOf(`\n## ${heading}`));
  const table = part.slice(part.indexOf('\n| ')).split('\n\n')[0] ?? '';
  return table
    .trim()
    .split('\n')
    .slice(2)
    .map((row) =>
      row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

describe('the page on graceful shutdown (GS-94)', () => {
  const page = textOf('docs/operations/graceful-shutdown.md');

  it('has the limits that are so, in the unit of the configuration', () => {
    const config = rowsUnder(page, 'How long').flatMap(([name = '', value = '']) => {
      const option = /`(\w+)`/.exec(name)?.[1];
      return option === undefined ? [] : [[option, Number(/(\d+) s/.exec(value)?.[1])] as const];
    });
    expect(config).to.have.length(Object.keys(defaultBudgets).length);
    expect(budgetsFromConfig(Object.fromEntries(config))).to.deep.equal(defaultBudgets);
  });

  it('has the exit codes that are so', () => {
    const told = rowsUnder(page, 'What is left').map(([, code]) => Number(code));
    const { clean, unfinished, timedOut, interrupted } = exitCodes;
    expect(told.slice(0, 5)).to.deep.equal([clean, unfinished, timedOut, interrupted, 128 + 9]);
  });

  it('explains log lines that there are', () => {
    const files = readdirSync(new URL('packages/service/src/', ROOT));
    const sources = files.map((file) => textOf(`packages/service/src/${file}`)).join('\n');
    const lines = rowsUnder(page, 'To see').flatMap(([cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, line = '']) => line),
    );
    expect(lines).to.have.length.above(8);
    for (const line of lines) {
      const words = line.replace(/NAME|compute/g, 'N').split(/ ?\bN\b ?/);
      for (const part of words.filter((word) => word.length > 1)) expect(sources, line).to.contain(part);
    }
  });
});

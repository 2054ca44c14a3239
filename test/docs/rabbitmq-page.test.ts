import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { readOptions } from '#driver-amqp/option-table.js';
import { refusalOf } from '#driver-amqp/refused-options.js';

const ROOT = new URL('../../../', import.meta.url);
const PAGES = ['docs/operations/rabbitmq.md', 'packages/driver-amqp/README.md'];

/** The rows of the table of options: names, and what is said to be the default. */
function optionRows(text: string): ReadonlyMap<string, string> {
  const part = text.slice(text.indexOf('\n## Options'));
  const rows = part.split('\n').filter((line) => line.startsWith('| `'));
  return new Map(
    rows.flatMap((row) => {
      const [, names = '', fallback = ''] = row.split('|');
      return [...names.matchAll(/`([a-z_]+)`/g)].map(([, name = '']) => [name, fallback.trim()] as const);
    }),
  );
}

describe('the pages about RabbitMQ', () => {
  const text = readFileSync(new URL('docs/operations/rabbitmq.md', ROOT), 'utf8');

  it('have a row for each option, and none for another (CORE-09)', () => {
    const { values } = readOptions({}, new Map());
    const rows = optionRows(text);
    expect([...rows.keys()].toSorted()).to.deep.equal(Object.keys(values).toSorted());
    for (const [name, value] of Object.entries(values))
      if (value === true) expect(rows.get(name), name).to.equal('true');
  });

  it('name as refused only what is refused (CORE-09)', () => {
    const [, list = ''] = /\nRefused, as they mean nothing here: ([^]*)/.exec(text) ?? [];
    const names = [...list.matchAll(/`([a-z_]+)`/g)].map(([, name = '']) => name);
    expect(names).to.have.length.above(3);
    for (const name of names) expect(refusalOf(name), name).to.be.a('string');
  });

  it('link to nothing that is not there', () => {
    for (const page of PAGES) {
      const base = new URL(page, ROOT);
      for (const [, path = ''] of readFileSync(base, 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g))
        expect(existsSync(new URL(path, base)), `${page}: ${path}`).to.equal(true);
    }
  });
});

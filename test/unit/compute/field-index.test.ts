import { expect } from 'chai';
import { describe, it } from 'mocha';
import { FieldIndex } from '#compute/db/field-index.js';

describe('an index of records by one field', () => {
  it('has the keys of each value, null and none too, and forgets those that are removed', () => {
    const index = new FieldIndex();
    index.add('a', 'h1');
    index.add('b', 'h1');
    index.add('c', null);
    index.add('d', undefined);
    const of = (value: unknown): readonly string[] => [...index.of(value)];
    expect([of('h1'), of(null), of(undefined), of('h2')]).to.deep.equal([['a', 'b'], ['c'], ['d'], []]);
    index.remove('a', 'h1');
    index.remove('c', 'h1'); // it was not there
    index.remove('c', null);
    expect([of('h1'), of(null), of(undefined)]).to.deep.equal([['b'], [], ['d']]);
  });
});

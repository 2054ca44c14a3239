import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { COMPUTE_METHODS, CONDUCTOR_METHODS, SCHEDULER_METHODS } from '@ebbgate/compute';
import { HOST_METHODS } from '#compute/rpc/host-methods.js';
import { methodsPage } from '#compute/rpc/methods-page.js';
import { OBJECT_METHODS } from '#compute/rpc/object-methods.js';

describe('the page of methods', () => {
  it('is what the table gives: node packages/compute/dist/main.js methods --markdown > docs/methods.md (GS-41)', () => {
    expect(readFileSync(join(process.cwd(), 'docs/methods.md'), 'utf8')).to.equal(methodsPage());
  });

  it('has a row for each method of compute, hosts, conductor and scheduler', () => {
    const rows = methodsPage().match(/^\| `\w+` /gm);
    const tables = [COMPUTE_METHODS, HOST_METHODS, CONDUCTOR_METHODS, OBJECT_METHODS, SCHEDULER_METHODS];
    expect(rows?.map((row) => row.slice(3, -2))).to.deep.equal(tables.flatMap((table) => Object.keys(table)));
  });
});

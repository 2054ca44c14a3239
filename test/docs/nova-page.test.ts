import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NoSuchMethodError, RpcClient } from '@ebbgate/rpc';
import { COMPUTE_METHODS } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { readVersionCap, rpcVersionOf } from '#compute/rpc/version-levels.js';
import { SOURCE, withCloud } from '../unit/compute/test-cloud.js';

const page = readFileSync(join(process.cwd(), 'docs/nova.md'), 'utf8');

describe('the page for operators of Nova', () => {
  it('says that a host serves every method of the table', () =>
    withCloud({}, async ({ cloud }) => {
      const target = { topic: 'compute', server: SOURCE, version: '6.0' };
      const client = new RpcClient(cloud.computeApi.transport, target);
      const missing: string[] = [];
      // Without arguments a method that is there is refused before it runs.
      for (const method of Object.keys(COMPUTE_METHODS)) {
        await client.call({}, method).catch((error: unknown) => {
          if (error instanceof NoSuchMethodError) missing.push(method);
        });
      }
      expect(missing).to.deep.equal([]);
      expect(page).to.contain('serves all of them');
    }));

  it('has the releases and service versions that the code has', () => {
    const rows = [...page.matchAll(/^\| ([a-z, ]+?) +\| (6\.\d) +\| (\d+)/gm)];
    expect(rows).to.have.length(6);
    for (const [, names = '', version = '', service = ''] of rows) {
      for (const name of names.split(', ').filter((one) => !one.startsWith('and our')))
        expect(readVersionCap(name)).to.equal(version);
      expect(rpcVersionOf(Number(service))).to.equal(version);
      expect(rpcVersionOf(Number(service) - 1)).to.not.equal(version);
    }
  });
});

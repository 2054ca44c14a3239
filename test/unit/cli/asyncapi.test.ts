import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { after, describe, it } from 'mocha';
import 'zod'; // which leaves globals: the command would load it within a test, whose leak they would be
import { checkAsyncApi } from '../../support/asyncapi-schema.js';
import { cli } from './cli-run.js';

const fixtures = join(import.meta.dirname, '../../support/fixtures');
const CONTRACT = ['asyncapi', '--contract', join(fixtures, 'cli-contract.js')];

describe('ebbgate asyncapi', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ebbgate-test-'));
  after(() => {
    rmSync(folder, { recursive: true });
  });

  it('prints the document of all contracts and events of a module, and nothing else', async () => {
    const { code, stdout, stderr } = await cli(CONTRACT);
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    const document = JSON.parse(stdout) as Record<string, object>;
    checkAsyncApi(document);
    expect(document['info']).to.deep.equal({ title: 'cli-contract', version: '1.1' });
    expect(Object.keys(document['operations'] ?? {})).to.deep.equal([
      'disks.get',
      'notifications.disk.full.info',
    ]);
  });

  it('takes topics, title and version from its flags, and prints one line with --json', async () => {
    const flags = ['--topic', 't', '--notification-topic', 'n', '--title', 'Disks', '--api-version', '7'];
    const { stdout } = await cli([...CONTRACT, ...flags, '--json']);
    expect(stdout.trimEnd()).to.not.include('\n');
    const document = JSON.parse(stdout) as Record<string, object>;
    expect(document['info']).to.deep.equal({ title: 'Disks', version: '7' });
    expect(Object.keys(document['operations'] ?? {})).to.deep.equal(['t.get', 'n.disk.full.info']);
  });

  it('writes it into a file and prints nothing', async () => {
    const ran = await cli([...CONTRACT, '--out', 'asyncapi.json'], { cwd: folder });
    expect(ran).to.deep.equal({ code: 0, stdout: '', stderr: '' });
    const { stdout } = await cli(CONTRACT);
    expect(readFileSync(join(folder, 'asyncapi.json'), 'utf8')).to.equal(stdout);
  });

  for (const [title, argv, complaint] of [
    [
      'a module without declarations',
      ['--contract', join(fixtures, 'cli-driver.js')],
      'exports neither a contract',
    ],
    ['a file that is not there', ['--contract', './absent.mjs'], 'there is no such file'],
    ['a place where it cannot write', [...CONTRACT.slice(1), '--out', '/absent/a.json'], 'cannot be written'],
  ] as const) {
    it(`refuses ${title} (exit code 2)`, async () => {
      const { code, stdout, stderr } = await cli(['asyncapi', ...argv]);
      expect({ code, stdout }).to.deep.equal({ code: 2, stdout: '' });
      expect(stderr).to.include(complaint);
    });
  }
});

import { mkdtemp, rm, stat } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigurationError, silentLogger } from '@ebbgate/core';
import { Instance, openRecords } from '@ebbgate/compute';
import { databaseIn, defaultStateDir } from '#compute/main/default-place.js';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';

describe('where a daemon keeps its records when it is not told', () => {
  let folder = '';
  const before = process.env['XDG_DATA_HOME'];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ebbgate-test-'));
    process.env['XDG_DATA_HOME'] = folder;
  });
  afterEach(async () => {
    if (before === undefined) delete process.env['XDG_DATA_HOME'];
    else process.env['XDG_DATA_HOME'] = before;
    await rm(folder, { recursive: true });
  });

  it('is in SQLite, in a folder of its user and its exchange, which nobody else may enter', async () => {
    const place = defaultStateDir('nova');
    expect(place).to.equal(join(folder, 'ebbgate-compute', 'nova'));
    expect(databaseIn(place)).to.equal(`sqlite:///${place}/records.sqlite`);
    expect((await stat(place)).mode & 0o077).to.equal(0);
    expect(defaultStateDir('other')).to.equal(join(folder, 'ebbgate-compute', 'other'));
  });

  it('is below the home folder when XDG_DATA_HOME names no absolute path', () => {
    const home = join(homedir(), '.local', 'share', 'ebbgate-compute', 'nova');
    for (const value of ['', 'relative/path']) {
      process.env['XDG_DATA_HOME'] = value;
      expect(defaultStateDir('nova')).to.equal(home);
    }
  });

  it('is one file for all that are told the same folder, whatever its name', async () => {
    const url = databaseIn(join(folder, 'ä ?#%2f'));
    const [one, two] = await Promise.all([1, 2].map(() => openRecords(url, { logger: silentLogger })));
    await one?.instances.create(Instance.create({ uuid: 'u' }));
    expect(await two?.instances.find({})).to.have.length(1);
    await Promise.all([one?.close(), two?.close()]);
    expect((await stat(join(folder, 'ä ?#%2f', 'records.sqlite'))).isFile()).to.equal(true);
  });

  it('is refused where no folder can be made', () => {
    expect(() => databaseIn('/dev/null/x')).to.throw(ConfigurationError, 'give --database or --state-dir');
  });
});

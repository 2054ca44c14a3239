import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { type CommandResult, runCommand } from '../../support/run-command.js';

const SCRIPT = join(import.meta.dirname, '../../../../scripts/debian.mjs');

/** Knows the packages in the file `installed`, one a line. */
const DPKG_QUERY = `#!/bin/sh
cd "$(dirname "$0")"; format=$2; shift 2
for name; do grep -qx "$name" installed || continue
  case "$format" in *Package*) echo "$name installed";; *) echo installed;; esac; done`;

/** Installs when there is a file \`lists\`, which an update makes if \`mirror\` is there. Writes down what it is asked. */
const APT_GET = `#!/bin/sh
cd "$(dirname "$0")"; echo "$1" >> asked
case "$1" in
  update) [ -e mirror ] && touch lists;;
  install) sleep 0.1; [ -e lists ] || { echo 'Unable to locate package'; exit 100; }
    shift 6; for name; do echo "$name" >> installed; done;;
esac`;

describe('Debian packages that are missing', function () {
  this.timeout(20_000);
  let folder = '';

  const file = (name: string, text = ''): void => {
    writeFileSync(join(folder, name), text);
  };
  const lines = (name: string): string[] => readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1);
  const ensure = (uid: number, ...names: string[]): Promise<CommandResult> => {
    const env = [`PATH=${folder}${delimiter}${process.env['PATH'] ?? ''}`, `TMPDIR=${folder}`];
    const as = `data:text/javascript,process.getuid=()=>${String(uid)}`;
    return runCommand('env', [...env, process.execPath, '--import', as, SCRIPT, ...names], folder);
  };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'debian-'));
    for (const [name, text] of Object.entries({ 'dpkg-query': DPKG_QUERY, 'apt-get': APT_GET })) {
      file(name, text);
      chmodSync(join(folder, name), 0o755);
    }
    file('installed', 'there\n');
    file('asked');
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  it('are installed by one command, without an update when it goes without', async () => {
    file('lists');
    expect((await ensure(0, 'there', 'a', 'b')).code).to.equal(0);
    expect(lines('installed')).to.deep.equal(['there', 'a', 'b']);
    expect((await ensure(0, 'there', 'a', 'b')).stderr).to.equal('');
    expect(lines('asked')).to.deep.equal(['install']);
  });

  it('are installed after an update on a machine that has no lists', async () => {
    file('mirror');
    expect((await ensure(0, 'a')).code).to.equal(0);
    expect(lines('asked')).to.deep.equal(['install', 'update', 'install']);
  });

  it('are installed once by two runs at the same time', async () => {
    file('lists');
    const ends = await Promise.all([ensure(0, 'a'), ensure(0, 'a')]);
    expect(ends.map(({ code }) => code)).to.deep.equal([0, 0]);
    expect(lines('asked')).to.deep.equal(['install']);
  });

  it('that cannot be installed are named, with the command', async () => {
    const { code, stderr } = await ensure(0, 'there', 'a');
    expect(code).to.equal(1);
    expect(stderr).to.match(/Unable to locate[^]*run: apt-get install --no-install-recommends a\n$/);
  });

  it('are named to who is not root', async () => {
    file('lists');
    const { code, stderr } = await ensure(1000, 'there', 'a');
    expect([code, lines('asked')]).to.deep.equal([1, []]);
    expect(stderr).to.match(/^Debian packages are missing. As root, run: apt-get install .* a\n$/);
  });
});

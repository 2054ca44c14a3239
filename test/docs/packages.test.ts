import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { docExamples, writeUserConfig } from '../support/doc-examples.js';
import { runCommand } from '../support/run-command.js';

const root = process.cwd();
const SQLITE = join(root, 'node_modules/better-sqlite3');

/** Makes of the compiled file that is installed here what the package's install script looks for before it compiles. */
async function packSqlite(folder: string): Promise<void> {
  const { version } = JSON.parse(readFileSync(join(SQLITE, 'package.json'), 'utf8')) as { version: string }; // npm's
  const { platform, arch, versions } = process;
  const file = `better-sqlite3-v${version}-node-v${versions.modules}-${platform}-${arch}.tar.gz`;
  const args = ['-czf', join(folder, file), '-C', SQLITE, 'build/Release/better_sqlite3.node'];
  const packed = await runCommand('tar', args, folder);
  expect(packed.code, packed.stderr).to.equal(0);
}

describe('the packages, packed and installed into an empty project', function () {
  this.timeout(720_000); // better-sqlite3 is compiled where that is needed
  let project = '';

  before(async () => {
    project = mkdtempSync(join(tmpdir(), 'ebbgate-packed-'));
    const packed = await runCommand(
      'npm',
      ['pack', '--workspaces', '--pack-destination', project],
      root,
      120_000,
    );
    expect(packed.code, packed.stderr).to.equal(0);
    writeFileSync(
      join(project, 'package.json'),
      JSON.stringify({ name: 'empty', private: true, type: 'module' }),
    );
    const tarballs = readdirSync(project).filter((file) => file.endsWith('.tgz'));
    expect(tarballs.length).to.equal(readdirSync(join(root, 'packages')).length);
    await packSqlite(project);
    const install = ['npm', 'install', '--no-audit', '--no-fund', ...tarballs.map((file) => `./${file}`)];
    const installed = await runCommand(
      'env',
      [`npm_config_better_sqlite3_local_prebuilds=${project}`, ...install],
      project,
      600_000,
    );
    expect(installed.code, installed.stderr).to.equal(0);
  });

  after(() => {
    rmSync(project, { recursive: true, force: true });
  });

  it('run the example of the README', async () => {
    const [example] = docExamples(join(root, 'README.md'));
    writeFileSync(join(project, 'example.ts'), example?.code ?? '');
    const tsc = join(root, 'node_modules/typescript-native/bin/tsc');
    writeUserConfig(project, join(root, 'node_modules/@types'));
    const compiled = await runCommand(process.execPath, [tsc], project);
    expect(compiled.stdout + compiled.stderr).to.equal('');
    const ran = await runCommand(process.execPath, ['example.js'], project);
    expect(ran).to.deep.equal({ code: 0, stdout: example?.output, stderr: '' });
  });

  it('answer a call from the shell', async () => {
    const args = [
      'ebbgate',
      'call',
      '--url',
      'memory:',
      '--serve-echo',
      '--topic',
      't',
      'echo',
      '{"message": [1, null, "ö"]}',
    ];
    const ran = await runCommand('npx', ['--no-install', ...args], project);
    expect(JSON.parse(ran.stdout)).to.deep.equal([1, null, 'ö']);
    expect(ran.code).to.equal(0);
  });

  it('run the main job, recorded requests included', async () => {
    const args = ['ebbgate-compute', 'main-job', '--migration-ms', '300', '--boot-ms', '100'];
    const ran = await runCommand('npx', ['--no-install', ...args], project);
    expect(ran.code, ran.stdout + ran.stderr).to.equal(0);
  });
});

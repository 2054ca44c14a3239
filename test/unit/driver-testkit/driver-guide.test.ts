import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { docExamples } from '../../support/doc-examples.js';
import { failuresOf } from './collecting-runner.js';
import { myDriver } from './my-driver.js';

const GUIDE = 'docs/writing-a-driver.md';
const HERE = 'test/unit/driver-testkit';

function block(file: string): string {
  return docExamples(GUIDE).find((example) => example.file === file)?.code ?? '';
}

describe('docs/writing-a-driver.md', () => {
  for (const file of ['my-driver.ts', 'my-listener.ts']) {
    it(`shows ${file} as it is compiled and tested, in less than 100 lines (style rule 21)`, async () => {
      const code = await readFile(`${HERE}/${file}`, 'utf8');
      expect(block(file)).to.equal(code);
      expect(code.split('\n').length).to.be.lessThan(101);
    });
  }

  it('has a skeleton that passes the suite as far as its manifest says (style rule 22)', async () => {
    const suite = { url: 'mine://toy/', faults: 'none', noFaultsBecause: 'the toy broker has none' } as const;
    expect((await failuresOf(myDriver, undefined, 2000, suite)).join('\n')).to.equal('');
  }).timeout(20_000);

  it('shows how to run the suite, and what it shows runs under node:test (style rule 22)', async () => {
    const folder = 'build/test/driver-guide';
    await mkdir(folder, { recursive: true });
    await writeFile(`${folder}/conformance.mjs`, block('conformance.mjs'));
    const run = promisify(execFile)(
      process.execPath,
      ['--test', '--test-reporter=tap', `${folder}/conformance.mjs`],
      {
        env: { ...process.env, NODE_TEST_CONTEXT: undefined },
      },
    );
    const { stdout } = await run.catch((error: unknown) => ({ stdout: String(error) }));
    expect(stdout).to.match(/^# fail 0$/m);
    expect(Number(/^# pass (\d+)$/m.exec(stdout)?.[1])).to.be.greaterThan(90);
  }).timeout(60_000);

  it('describes every feature of the manifest and every method of the interface (style rule 21)', async () => {
    const guide = await readFile(GUIDE, 'utf8');
    for (const source of ['features', 'driver']) {
      const code = await readFile(`packages/core/src/${source}.ts`, 'utf8');
      const names = [...code.matchAll(/^ {2}(?:readonly )?(\w+)(?:\(|:)/gm)].map(([, name = '']) => name);
      for (const name of names) expect(guide, `${source}.ts: ${name}`).to.match(new RegExp(`\\b${name}\\b`));
    }
  });
});

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { type DocExample, docExamples, writeUserConfig } from '../support/doc-examples.js';
import { runCommand } from '../support/run-command.js';

const root = process.cwd();
const tsc = join(root, 'node_modules/typescript-native/bin/tsc');

/** Loaded before a program: it is told to end the moment it can hear that. */
const EARLY_SIGTERM = `process.on('newListener', (name) => {
  if (name === 'SIGTERM') queueMicrotask(() => process.emit('SIGTERM', 'SIGTERM'));
});
`;

/** Writes the files of an example, compiles them as a user would, and runs the last one. */
async function compileAndRun(
  name: string,
  files: ReadonlyMap<string, string>,
  before?: string,
): Promise<string> {
  const folder = join(root, 'build/doc-examples', name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', private: true }));
  for (const [file, code] of files) writeFileSync(join(folder, file), code);
  writeUserConfig(folder, join(root, 'node_modules/@types'));
  const compiled = await runCommand(process.execPath, [tsc], folder);
  expect(compiled.stdout + compiled.stderr).to.equal('');
  const main = [...files.keys()].at(-1)?.replace(/\.ts$/, '.js') ?? '';
  if (before !== undefined) writeFileSync(join(folder, 'before.js'), before);
  const preload = before === undefined ? [] : ['--import', './before.js'];
  const ran = await runCommand(process.execPath, [...preload, main], folder);
  expect(ran.stderr).to.equal('');
  expect(ran.code).to.equal(0);
  return ran.stdout;
}

function named(examples: readonly DocExample[]): Map<string, string> {
  return new Map(examples.flatMap(({ file, code }) => (file === undefined ? [] : [[file, code]])));
}

describe('documentation: examples', function () {
  this.timeout(60_000);

  it('the first example of the README compiles, runs, and prints what the README says', async () => {
    const [first] = docExamples(join(root, 'README.md'));
    expect(first?.code).to.include('prepare(').and.to.include('topic:');
    const printed = await compileAndRun('readme', new Map([['example.ts', first?.code ?? '']]));
    expect(printed).to.equal(first?.output);
  });

  it('the example of the page about notifications compiles, runs, and prints what the page says', async () => {
    const examples = docExamples(join(root, 'docs/notifications.md'));
    const printed = await compileAndRun('notifications', named(examples.slice(0, 1)));
    expect(printed).to.equal(examples[0]?.output);
    expect(examples[0]?.code.split('\n').filter((line) => line.trim() !== '').length).to.be.within(5, 15);
  });

  it('the first example of the README has at most 20 lines of code', () => {
    const [first] = docExamples(join(root, 'README.md'));
    const lines = (first?.code ?? '').split('\n').filter((line) => line.trim() !== '');
    expect(lines.length).to.be.within(5, 20);
  });

  it('the worker of the getting-started page compiles, answers after SIGTERM and exits with 0', async () => {
    const examples = docExamples(join(root, 'docs/getting-started.md'));
    const printed = await compileAndRun('getting-started', named(examples));
    expect(printed).to.equal(examples.find(({ file }) => file === 'worker.ts')?.output);
  });

  it('the worker of the getting-started page exits with 0 and without a word when SIGTERM comes before it has started (GS-104)', async () => {
    const examples = docExamples(join(root, 'docs/getting-started.md'));
    expect(await compileAndRun('early-sigterm', named(examples), EARLY_SIGTERM)).to.equal('');
  });

  it('the service of the service guide finishes over its ops topic what SIGTERM finds open, prints what the page says, and exits with 0 (GS-3, GS-30, GS-77)', async () => {
    const examples = docExamples(join(root, 'docs/service-guide.md'));
    expect([...named(examples).keys()]).to.deep.equal(['copier-api.ts', 'copier.ts', 'main.ts']);
    const printed = await compileAndRun('service-guide', named(examples));
    expect(printed).to.equal(examples.find(({ file }) => file === 'main.ts')?.output);
  });
});

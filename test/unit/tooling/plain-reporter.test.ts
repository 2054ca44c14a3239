import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';

const mocha = createRequire(import.meta.url).resolve('mocha/bin/mocha.js');
const reporter = fileURLToPath(new URL('../../support/plain-reporter.js', import.meta.url));
const fixture = fileURLToPath(new URL('../../support/fixtures/reporter-run.js', import.meta.url));

/** Runs the fixture in a mocha of its own; resolves with its lines on stdout. */
function report(countsFile: string | undefined): Promise<{ code: unknown; lines: string[] }> {
  const args = [mocha, '--no-config', '--reporter', reporter, fixture];
  const env = { ...process.env };
  delete env['EBBGATE_TEST_COUNTS'];
  if (countsFile !== undefined) env['EBBGATE_TEST_COUNTS'] = countsFile;
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env }, (error, stdout) => {
      resolve({ code: error?.code ?? 0, lines: stdout.trimEnd().split('\n') });
    });
  });
}

describe('the plain reporter', () => {
  let folder = '';

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'plain-reporter-'));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  it('ends with the counts and names what failed, with its cause', async () => {
    const { code, lines } = await report(undefined);
    expect(code).to.equal(1);
    expect(lines.at(-1)).to.equal('1 passed, 1 failed, 1 skipped');
    expect(lines).to.include('FAILED: a suite is wrong');
    expect(lines).to.include('skipped: a suite is yet to be written');
    expect(lines).to.include('Error: outer');
    expect(lines).to.include('caused by: Error: inner');
  });

  it('leaves the counts in a file for a caller that sums up several runs', async () => {
    const countsFile = join(folder, 'counts.json');
    const { lines } = await report(countsFile);
    expect(JSON.parse(readFileSync(countsFile, 'utf8'))).to.deep.equal({ passed: 1, failed: 1, skipped: 1 });
    expect(lines).not.to.include('1 passed, 1 failed, 1 skipped');
  });
});

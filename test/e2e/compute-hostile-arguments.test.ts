import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { runCommand } from '../support/run-command.js';

const PROGRAM = join(import.meta.dirname, '../../../packages/compute/dist/main.js');
const SECRET = 'hunter2';
const URL_OF = (scheme: string): string => `${scheme}://u:${SECRET}@h:99999/`;

describe('ebbgate-compute, given what belongs nowhere', function () {
  this.timeout(60_000);
  let folder = '';
  let file = '';

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'ebbgate-hostile-'));
    file = join(folder, 'broken.conf');
    writeFileSync(file, `[DEFAULT]\ntransport_url = ${URL_OF('rabbit')}\n${URL_OF('rabbit')}\n`);
  });
  after(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  const lines: readonly (readonly [what: string, argv: () => readonly string[]])[] = [
    ['a URL for a command', () => [URL_OF('rabbit')]],
    ['a URL for an option', () => ['conductor', `--transprot=${URL_OF('rabbit')}`]],
    ['a URL for an argument', () => ['conductor', URL_OF('rabbit')]],
    ['a URL for a file', () => ['conductor', '--config', URL_OF('rabbit')]],
    ['a URL with a wrong port', () => ['conductor', '--transport', URL_OF('rabbit')]],
    ['a URL of an unknown scheme', () => ['conductor', '--transport', URL_OF('nats')]],
    ['a database that is none', () => ['conductor', '--database', URL_OF('mysql')]],
    ['a URL for a number', () => ['conductor', '--report-interval', URL_OF('rabbit')]],
    ['a URL for a driver', () => ['conductor', '--driver', URL_OF('rabbit'), '--transport', 'x://h/']],
    ['a URL for a host of an operator', () => ['services', `--hosts=${URL_OF('rabbit')}`]],
    ['a file with a line that is none', () => ['conductor', '--config', file]],
  ];
  for (const [what, argv] of lines)
    it(`says so of ${what}, without the password (SEC-04, CORE-09)`, async () => {
      const { code, stdout, stderr } = await runCommand(process.execPath, [PROGRAM, ...argv()], folder);
      expect(code, stderr).to.be.oneOf([1, 2]);
      expect(stderr).to.match(/error: /);
      expect(stdout + stderr).to.not.contain(SECRET);
    });
});

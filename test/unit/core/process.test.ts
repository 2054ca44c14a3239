import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { runCommand } from '../../support/run-command.js';

const folder = fileURLToPath(new URL('.', import.meta.url));
const program = (name: string): string => fileURLToPath(new URL(`fixtures/${name}.js`, import.meta.url));

describe('a process with a transport', () => {
  for (const state of ['never connected', 'connecting', 'connected', 'stopped', 'cut', 'stalled']) {
    it(`ends by itself within 2 s after close(), called when it was ${state} (CORE-05)`, async () => {
      const args = ['--trace-warnings', program('close-and-exit'), state];
      const { code, stdout, stderr } = await runCommand(process.execPath, args, folder, 15_000);
      expect(stderr).to.equal('');
      expect(code).to.equal(0);
      const { left, lastedMs } = JSON.parse(stdout) as { left: string[]; lastedMs: number }; // printed by the program
      expect(left).to.deep.equal([]);
      expect(lastedMs).to.be.below(2000);
    }).timeout(20_000);
  }

  for (const seed of [1, 20_260, 977_131]) {
    it(`survives faults at any moment with unhandled rejections set to crash, seed ${String(seed)} (CORE-11)`, async () => {
      const args = [
        '--unhandled-rejections=strict',
        '--trace-warnings',
        program('random-faults'),
        String(seed),
      ];
      const { code, stdout, stderr } = await runCommand(process.execPath, args, folder, 30_000);
      expect(stderr).to.equal('');
      expect([code, stdout.trim()]).to.deep.equal([0, 'survived']);
    }).timeout(40_000);
  }
});

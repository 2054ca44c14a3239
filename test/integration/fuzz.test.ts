import { expect } from 'chai';
import { describe, it } from 'mocha';
import { fuzz } from '../support/fuzz/fuzz.js';
import type { FuzzReport } from '../support/fuzz/target.js';
import { Prototypes } from '../support/prototypes.js';
import { targetFile, TARGETS } from '../fuzz/targets.js';

/** Of each of the three that see most of what strangers send; half of it for the others: by command as long as one likes. */
const SECONDS = Number(process.env['EBBGATE_FUZZ_SECONDS'] ?? 5);
const FOREMOST: readonly string[] = ['transport-url', 'envelope', 'failure'];
/** To load a target, and to make a failing input shorter. */
const ROOM_MS = 30_000;
const LONGEST_MS = 120_000;
const PLANTED = 'ebb\x07\xff';

function seed(): number {
  return Number(process.env['EBBGATE_FUZZ_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
}

/** For a person who sees it fail: what was found, and how to find it again. */
function told({ finding }: FuzzReport, seed: number): string | undefined {
  if (!finding) return undefined;
  const input = Buffer.from(finding.input).toString('base64');
  return `EBBGATE_FUZZ_SEED=${String(seed)}, the input in base64: ${input}\n${finding.why}`;
}

describe('a search for inputs, led by the code that they reach,', () => {
  for (const name of TARGETS) {
    const seconds = FOREMOST.includes(name) ? SECONDS : SECONDS / 2;
    it(`finds none with which ${name} breaks its promises (SEC-01, SEC-04, SEC-06)`, async function () {
      this.timeout(seconds * 1000 + ROOM_MS);
      const start = seed();
      const report = await fuzz(targetFile(name), { seconds, seed: start });
      expect(told(report, start)).to.equal(undefined);
      expect(report.runs).to.be.above(report.kept);
    });
  }

  const faults: readonly [fault: string, why: string, longestMs: number][] = [
    ['throws', 'the planted fault', ROOM_MS],
    ['pollutes', 'members of Object.prototype changed: polluted', ROOM_MS],
    ['never ends', 'It does not end', 5_000],
    ['takes all memory', 'ERR_WORKER_OUT_OF_MEMORY', LONGEST_MS],
  ];
  for (const [fault, why, longestMs] of faults) {
    it(`finds a planted fault that ${fault}, with the bytes that lead to it`, async function () {
      this.timeout(2 * LONGEST_MS + ROOM_MS);
      const before = new Prototypes();
      const file = new URL(`../support/fixtures/fuzz-planted.js?fault=${fault}`, import.meta.url);
      const { finding } = await fuzz(file, {
        seconds: LONGEST_MS / 1000,
        seed: seed(),
        longestMs,
      });
      expect(finding?.why).to.contain(why);
      const input = Buffer.from(finding?.input ?? []).toString('latin1');
      expect(input.slice(0, PLANTED.length)).to.equal(PLANTED);
      expect(before.changes()).to.deep.equal([]);
    });
  }
});

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { Worker } from '#compute/main/worker.js';
import { CapturedLog } from '../../support/captured-log.js';
import { eventually } from '../../support/rigs/deadline.js';

/** Listens to SIGHUP only when it is about to serve; writes down what it hears. */
const PROGRAM = `
const { appendFileSync, existsSync } = require('node:fs');
const [folder] = process.argv.slice(2);
appendFileSync(folder + '/heard', 'begun ');
const timer = setInterval(() => {
  if (!existsSync(folder + '/go')) return;
  clearInterval(timer);
  process.on('SIGHUP', () => appendFileSync(folder + '/heard', 'SIGHUP '));
  process.on('SIGTERM', () => process.exit(0));
  process.on('disconnect', () => process.exit(0));
  process.send({ kind: 'serves' });
}, 5);
`;

describe('a worker that is told to reload while it starts', () => {
  it('is told once it serves, and does not die of it; later at once (COMP-08)', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ebbgate-test-'));
    const heard = (): Promise<string> => readFile(join(folder, 'heard'), 'utf8').catch(() => '');
    const program = join(folder, 'program.cjs');
    await writeFile(program, PROGRAM);
    const log = new CapturedLog();
    const worker = new Worker({ name: 'w', program, args: [folder], logger: log });
    try {
      await eventually('it has begun', 10_000, async () => (await heard()) === 'begun ');
      worker.reload();
      worker.reload();
      await writeFile(join(folder, 'go'), '');
      expect(await Promise.race([worker.serves.then(() => 'serves'), worker.ended])).to.equal('serves');
      await eventually('it has heard it', 10_000, async () => (await heard()) === 'begun SIGHUP ');
      worker.reload();
      await eventually(
        'it has heard it again',
        10_000,
        async () => (await heard()) === 'begun SIGHUP SIGHUP ',
      );
      expect(log.lines).to.deep.equal([]);
    } finally {
      worker.drain();
      expect(await worker.ended).to.equal(0);
      await rm(folder, { recursive: true });
    }
  });
});

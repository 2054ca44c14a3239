// npm run soak -- --driver D [--minutes N] [--seed N] [--acceptance confirmed|written]: a system under load and faults; ends with 1 if anything was wrong.
import { parseArgs } from 'node:util';
import { ACCEPTANCES, DRIVERS } from './place.js';
import { reportOf } from './report.js';
import { soak } from './soak.js';

const { values } = parseArgs({
  options: {
    driver: { type: 'string', default: 'rabbit' },
    acceptance: { type: 'string', default: 'confirmed' },
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
  },
});
const driver = DRIVERS.find((name) => name === values.driver);
const acceptance = ACCEPTANCES.find((name) => name === values.acceptance);
const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
if (!driver) throw new RangeError(`--driver must be one of ${DRIVERS.join(', ')}`);
if (!acceptance) throw new RangeError(`--acceptance must be one of ${ACCEPTANCES.join(', ')}`);
if (!(minutes > 0)) throw new RangeError('--minutes must be a number above 0');
if (!Number.isInteger(seed)) throw new RangeError('--seed must be a whole number');

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130)); // all go with us
const print = (line: string): void => void process.stderr.write(`${line}\n`);
const { evidence, findings } = await soak({ driver, acceptance, loadMs: minutes * 60_000, seed, print });
console.log(reportOf(evidence, findings).join('\n'));
process.exitCode = findings.problems.length === 0 ? 0 : 1;

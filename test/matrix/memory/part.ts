// A part of the matrix: each case that is selected, on the in-memory driver with a simulated clock; on stdout one line of JSON for
// each. Run by `parts.ts`.
import { parseArgs } from 'node:util';
import { RecordedJob } from '#compute/main-job/recorded-job.js';
import { runMatrix } from './matrix.js';
import { SimulatedTime } from './simulated-time.js';

const { values } = parseArgs({
  options: {
    flow: { type: 'string' },
    party: { type: 'string' },
    way: { type: 'string' },
    step: { type: 'string' },
    seed: { type: 'string' },
    /** `1/2`: the first half of the cases. */
    part: { type: 'string', default: '1/1' },
    'no-ops-server': { type: 'boolean', default: false },
    'until-broken': { type: 'boolean', default: false },
  },
});

const [part = 1, parts = 1] = values.part.split('/').map(Number);
const recorded = await RecordedJob.read(); // on the real clock
const matrix = runMatrix(new SimulatedTime(), recorded, {
  flow: values.flow,
  party: values.party,
  way: values.way,
  step: values.step === undefined ? undefined : Number(values.step),
  seed: Number(values.seed ?? 1),
  part,
  parts,
  opsServer: !values['no-ops-server'],
  untilBroken: values['until-broken'],
});
for await (const result of matrix) process.stdout.write(`${JSON.stringify(result)}\n`);
process.exit(0); // the clock stands still now

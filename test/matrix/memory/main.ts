// npm run matrix: every flow, stopped at every step, on the in-memory driver with a simulated clock.
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { WAYS } from '../parties.js';
import { tableOf, writeSection } from '../table.js';
import { FLOWS } from './flows.js';
import { failureOf, runParts } from './parts.js';

const PAGE = 'docs/operations/drain-matrix.md';

const { values } = parseArgs({
  options: {
    flow: { type: 'string' },
    party: { type: 'string' },
    way: { type: 'string' },
    step: { type: 'string' },
    seed: { type: 'string', default: '1' },
    'no-ops-server': { type: 'boolean', default: false },
    json: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});
const { seed, json, write } = values;
const opsServer = !values['no-ops-server'];

const print = (line: string): void => void process.stderr.write(`${line}\n`);
const narrowed = (['flow', 'party', 'way', 'step'] as const).flatMap((name) => {
  const value = values[name];
  return value === undefined ? [] : [`--${name}`, value];
});
const how = ['--seed', seed, ...(opsServer ? [] : ['--no-ops-server'])];

let done = 0;
print(`Schedules of seed ${seed}`);
const results = await runParts([...narrowed, ...how], ({ flow, party, way }) => {
  done += 1;
  if (done % 100 === 0) print(`${String(done)} runs, now ${flow}, ${party}, ${way}`);
});
if (results.length === 0) {
  const names = FLOWS.map(({ name }) => name).join(', ');
  print(`error: there is no such run; --flow is one of ${names}; --way is one of ${WAYS.join(', ')}`);
  process.exit(2);
}
const bad = results.filter(({ problems }) => problems.length > 0);
for (const one of bad) print(`\n${failureOf(one, how)}`);
console.log(tableOf(results));
if (json !== undefined) await writeFile(json, `${JSON.stringify(results, null, 2)}\n`);
if (write) {
  const text = `${String(results.length)} runs, with the schedules of seed ${seed}.\n\n${tableOf(results)}`;
  await writeSection(PAGE, opsServer ? 'memory' : 'memory-no-ops', text);
}
process.exitCode = bad.length === 0 ? 0 : 1;

// npm run bench -- codec [--times N]: what Nova's versioned objects cost by themselves. The arguments of recorded requests
// of a Nova client: making objects of them and the wire form of them again, beside the JSON text of the same.
import { parseArgs } from 'node:util';
import { decodeObjects, encodeObjects } from '@ebbgate/compute';
import { readRecordedRequest } from '#compute/main-job/recorded-requests.js';
import { keep, median, table } from './lib/measure.js';

const { values } = parseArgs({ options: { times: { type: 'string', default: '2000' } } });
const times = Number(values.times);
const ROUNDS = 15;
const REQUESTS = [
  'v26-build_and_run_instance',
  'v26-live_migration',
  'v26-external_instance_event',
  'v26-get_host_uptime',
];

let kept: unknown; // so that nothing is left out as unused

/** Microseconds that one takes, the median of the rounds. */
function microseconds(work: () => unknown): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const startedAt = performance.now();
    for (let time = 0; time < times; time += 1) kept = work();
    return ((performance.now() - startedAt) / times) * 1000;
  });
  return median(rounds);
}

const rows = [];
for (const name of REQUESTS) {
  const { method, wireArgs } = await readRecordedRequest(name);
  const text = JSON.stringify(wireArgs);
  const decoded = decodeObjects(wireArgs);
  rows.push({
    method,
    bytes: text.length,
    decode: microseconds(() => decodeObjects(wireArgs)),
    encode: microseconds(() => encodeObjects(decoded)),
    parse: microseconds(() => JSON.parse(text) as unknown),
    stringify: microseconds(() => JSON.stringify(wireArgs)),
  });
}
if (kept === undefined) throw new Error('nothing was measured');

console.log('microseconds each\n');
console.log(
  table([
    ['arguments of', 'bytes', 'decode', 'encode', 'JSON.parse', 'JSON.stringify', 'codec / JSON'],
    ...rows.map(({ method, bytes, decode, encode, parse, stringify }) => [
      method,
      bytes.toLocaleString('en'),
      ...[decode, encode, parse, stringify].map((one) => one.toFixed(1)),
      ((decode + encode) / (parse + stringify)).toFixed(2),
    ]),
  ]),
);
keep('codec', { times, rows });

// npm run bench -- memory [--rounds N] [--calls N]: calls and casts over the in-memory driver against the floor.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { againstFirst, keep, table } from './lib/measure.js';
import { contenders } from './lib/memory-contenders.js';

interface Footprint {
  readonly pendingCallBytes: number;
  readonly queuedCallBytes: number;
  readonly idleServerBytes: number;
  readonly heapBytes: readonly number[];
  readonly calls: number;
}

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, calls: { type: 'string', default: '2000000' } },
});
const rounds = Number(values.rounds);

async function start(name: string): Promise<ChildProcess> {
  const child = fork(new URL('lib/memory-round.js', import.meta.url), [name]);
  await once(child, 'message');
  return child;
}

async function round(child: ChildProcess): Promise<number> {
  child.send(100_000);
  const [perSecond] = (await once(child, 'message')) as [number]; // what memory-round.ts sends
  return perSecond;
}

const names = [...contenders.keys()];
const children = await Promise.all(names.map(start));
const speeds = names.map(() => [] as number[]);
for (let turn = 1; turn <= rounds; turn += 1) {
  console.error(`round ${String(turn)} of ${String(rounds)}`);
  for (const [index, child] of children.entries()) speeds[index]?.push(await round(child)); // in turn: the machine drifts
}
for (const child of children) child.disconnect();

const rows = againstFirst(names, speeds);
console.log(
  '32 at a time, an argument and a result of 94 bytes; ratios to the floor, round by round: median (least … most)\n',
);
console.log(
  table([
    ['', 'a second', 'ratio', 'least', 'most'],
    ...rows.map((row) => [
      row.name,
      Math.round(row.perSecond).toLocaleString('en'),
      row.ratio.toFixed(2),
      row.least.toFixed(2),
      row.most.toFixed(2),
    ]),
  ]),
);

console.error(
  `\nmemory: 100,000 pending calls, 1,000 idle servers, ${Number(values.calls).toLocaleString('en')} calls`,
);
const footprint = fork(new URL('lib/memory-footprint.js', import.meta.url), [values.calls], {
  execArgv: ['--expose-gc'],
});
const [memory] = (await once(footprint, 'message')) as [Footprint]; // what memory-footprint.ts sends
const mebibytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
console.log(`
a pending call    ${Math.round(memory.pendingCallBytes).toLocaleString('en')} bytes; ${Math.round(memory.queuedCallBytes).toLocaleString('en')} with its request still queued in the process (100,000 at once)
an idle server    ${Math.round(memory.idleServerBytes).toLocaleString('en')} bytes
the heap over ${memory.calls.toLocaleString('en')} calls, after each fifth: ${memory.heapBytes.map(mebibytes).join(', ')}`);
keep('memory', { rounds, rows, memory });

// npm run fuzz: searches each target for so many seconds; see CONTRIBUTING.md.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { fuzz } from '../support/fuzz/fuzz.js';
import type { Finding, FuzzCounts, FuzzTarget } from '../support/fuzz/target.js';
import { targetFile, TARGETS } from './targets.js';

const FINDINGS = join(import.meta.dirname, '../../fuzz');
const USAGE = `Usage: npm run fuzz -- [TARGET …] [--seconds N] [--seed N], or npm run fuzz -- TARGET --input FILE
Targets: ${TARGETS.join(', ')}`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    input: { type: 'string' },
  },
});
const seconds = Number(values.seconds);
const seed = Number(values.seed);
const names: readonly string[] = positionals.length === 0 ? TARGETS : positionals;

function told({ runs, kept, reached }: FuzzCounts): string {
  return `${runs.toLocaleString('en')} inputs, ${String(kept)} kept, ${reached.toLocaleString('en')} characters of code reached`;
}

/** Where the input is kept with which something does not hold. */
function keep(name: string, { input }: Finding): string {
  mkdirSync(FINDINGS, { recursive: true });
  const digest = createHash('sha256').update(input).digest('hex').slice(0, 8);
  const file = join(FINDINGS, `${name}-${digest}.bin`);
  writeFileSync(file, input);
  return relative(process.cwd(), file);
}

async function search(name: string): Promise<{ readonly runs: number; readonly found: boolean }> {
  let seen = 0;
  const onProgress = (counts: FuzzCounts): void => {
    seen += 1;
    if (process.stderr.isTTY || seen % 10 === 0) console.error(`${name}: ${String(seen)} s, ${told(counts)}`);
  };
  console.log(`${name}: ${String(seconds)} s, seed ${String(seed)} …`);
  const { finding, ...counts } = await fuzz(targetFile(name), { seconds, seed, onProgress });
  console.log(`${name}: ${told(counts)}`);
  if (finding) {
    const file = keep(name, finding);
    console.log(
      `${name}: FOUND, with seed ${String(seed)}; npm run fuzz -- ${name} --input ${file}\n${finding.why}`,
    );
  }
  return { runs: counts.runs, found: finding !== undefined };
}

async function again(name: string, file: string): Promise<void> {
  const { target } = (await import(targetFile(name).href)) as { target: FuzzTarget }; // each of them exports one
  target.check(readFileSync(file));
  console.log(`fuzz: ${name} holds with ${file}`);
}

async function all(): Promise<void> {
  let runs = 0;
  const failed: string[] = [];
  for (const name of names) {
    const outcome = await search(name);
    runs += outcome.runs;
    if (outcome.found) failed.push(name);
  }
  const what = failed.length === 0 ? 'no finding' : `findings in ${failed.join(', ')}`;
  console.log(
    `fuzz: ${what}; ${String(names.length)} targets, ${runs.toLocaleString('en')} inputs, seed ${String(seed)}`,
  );
  process.exitCode = failed.length === 0 ? 0 : 1;
}

const isKnown = names.every((name) => (TARGETS as readonly string[]).includes(name));
const [only] = names;
if (!isKnown || !(seconds > 0) || !Number.isSafeInteger(seed)) {
  console.error(USAGE);
  process.exitCode = 2;
} else if (values.input !== undefined && only !== undefined) await again(only, values.input);
else await all();

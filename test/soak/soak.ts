import { cp } from 'node:fs/promises';
import { eventually, within } from '../support/rigs/deadline.js';
import { type PrivateFolder, privateFolder } from '../support/rigs/private-folder.js';
import { check, type Findings } from './checker.js';
import { Company } from './company.js';
import { type Evidence, isOwed, type Promises, type Stored, storiesOf } from './evidence.js';
import { ownNotes } from './own-notes.js';
import { localPart, processPart } from './part.js';
import { type DriverName, type Place, startPlace } from './place.js';
import { faultPlan } from './plan.js';
import { Strikes } from './strikes.js';
import { Tally } from './tally.js';

export interface SoakOptions {
  readonly driver: DriverName;
  readonly acceptance: Promises['acceptance'];
  /** How long the load lasts at least: it ends when the last fault is over. */
  readonly loadMs: number;
  readonly seed: number;
  /** Told how far it is. */
  readonly print: (line: string) => void;
}

export interface SoakResult {
  readonly evidence: Evidence;
  readonly findings: Findings;
}

/** Where the records go of a run with problems. */
const KEPT = `build/soak-records-${process.pid}`;
/** Each of two clients calls and casts so often, and the notifier tells. */
const EVERY_MS = 40;
const TIMEOUT_MS = 8_000;
const START_LIMIT_MS = 30_000;
/** Longer than anything that was sent may take. */
const SETTLED_LIMIT_MS = TIMEOUT_MS + 20_000;
const SERVED_LIMIT_MS = 30_000;
const PROGRESS_MS = 5_000;
/** So many faults a run, as far as these bounds let it. */
const FAULTS = 60;
const EVERY_FAULT_MS = { least: 700, most: 5_000 };
/** So many times a run the heaps are measured, as far as the bound lets it. */
const HEAPS = 60;
const LEAST_HEAP_MS = 1_000;

/** Puts a system under constant load, does to it what a plan says, and checks what came of it. */
export async function soak(options: SoakOptions): Promise<SoakResult> {
  const { driver, acceptance, seed, print } = options;
  print(`soak of ${driver}, --seed ${seed}: starting`);
  const folder = await privateFolder('soak');
  const place = await startPlace(driver, acceptance);
  try {
    const evidence = await underLoad(options, place, folder);
    print('checking');
    const findings = check(evidence);
    if (findings.problems.length > 0) {
      await cp(folder.path, KEPT, { recursive: true });
      print(`what all have written down is kept in ${KEPT}`);
    }
    return { evidence, findings };
  } finally {
    await place.dispose();
    await folder.remove();
  }
}

async function underLoad(options: SoakOptions, place: Place, folder: PrivateFolder): Promise<Evidence> {
  const { driver, loadMs, print } = options;
  const { url, hasNotifications, promises } = place;
  const heapEveryMs = Math.max(LEAST_HEAP_MS, loadMs / HEAPS);
  const isLocal = driver === 'memory';
  const own = isLocal ? ownNotes(`${folder.path}/own.jsonl`, heapEveryMs) : undefined;
  const settings = { url, everyMs: EVERY_MS, timeoutMs: TIMEOUT_MS, heapEveryMs };
  const company = new Company(isLocal ? localPart : processPart, folder.path, settings);
  try {
    company.startReceivers(hasNotifications);
    await within('the start of the receivers', START_LIMIT_MS, company.ready());
    company.startSenders(hasNotifications);
    await within('the start of all', START_LIMIT_MS, company.ready());
    const from = Date.now();
    const faults = await strike(options, place, company);
    const to = Date.now();
    print('the load ends: what is under way settles');
    await company.quiesce(SETTLED_LIMIT_MS);
    own?.idle();
    const stored = await left(place, company);
    print('all end in order');
    await company.end();
    const runs = [...company.runs(), ...(own ? [own.run()] : [])];
    return { promises, runs, faults, load: { from, to }, stored };
  } finally {
    company.killAll();
    own?.stop();
  }
}

/** Faults until the load is to end. */
async function strike(
  { seed, loadMs, print }: SoakOptions,
  place: Place,
  company: Company,
): Promise<Strikes['done']> {
  const strikes = new Strikes(place, company);
  const tally = new Tally();
  const startedAt = performance.now();
  const progress = setInterval(() => {
    tally.read(company.files);
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    const done = `${tally.of('settled')} of ${tally.of('sent')} sends settled, ${tally.of('begun')} begun`;
    const now = [...strikes.underWay].join(', ');
    print(`${seconds} of ${loadMs / 1000} s: ${done}; ${strikes.done.length} faults${now && `, now ${now}`}`);
  }, PROGRESS_MS);
  const { least, most } = EVERY_FAULT_MS;
  const everyMs = Math.min(most, Math.max(least, loadMs / FAULTS));
  try {
    await strikes.follow(faultPlan(seed, place.kinds, everyMs), loadMs);
  } finally {
    clearInterval(progress);
  }
  return strikes.done;
}

/** Waits until all that was sent has been served; gives what is left after long enough. */
async function left(place: Place, company: Company): Promise<Stored> {
  const owed = (): Stored => new Map([['memory', storiesOf(company.runs()).filter(isOwed).length]]);
  const look = async (): Promise<Stored> => (await place.stored()) ?? owed();
  const isServed = async (): Promise<boolean> => [...(await look()).values()].every((count) => count === 0);
  await eventually('all to be served', SERVED_LIMIT_MS, isServed).catch(() => undefined);
  return look();
}

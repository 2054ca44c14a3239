import { setTimeout as pause } from 'node:timers/promises';
import type { Company } from './company.js';
import type { Struck } from './evidence.js';
import type { Place } from './place.js';
import type { FaultKind, PlannedFault } from './plan.js';

type Group = 'broker' | 'links' | 'server' | 'listener';

/** What cannot be done at the same time. */
const GROUPS: Readonly<Record<FaultKind, Group>> = {
  'broker-kill': 'broker',
  'broker-restart': 'broker',
  cancel: 'broker',
  cut: 'links',
  'cut-all': 'links',
  stall: 'links',
  'black-hole': 'links',
  'server-roll': 'server',
  'server-kill': 'server',
  'server-close': 'server',
  'listener-roll': 'listener',
  'listener-kill': 'listener',
  'listener-close': 'listener',
};
const LONGEST_CALM_MS = 10_000;
const WAYS = { roll: 'end', kill: 'kill', close: 'kill' } as const;

/** Does what a plan says, of different groups also at the same time. */
export class Strikes {
  /** Those that are over. */
  readonly done: Struck[] = [];
  /** What is being done. */
  readonly underWay = new Set<FaultKind>();
  readonly #place: Place;
  readonly #company: Company;
  readonly #busy = new Map<Group, Promise<void>>();

  constructor(place: Place, company: Company) {
    this.#place = place;
    this.#company = company;
  }

  /** Resolves when the time is over, and all that was done, with the peace after it. Rejects when something could not be done. */
  async follow(plan: Iterable<PlannedFault>, forMs: number): Promise<void> {
    const over = AbortSignal.timeout(forMs);
    for (const fault of plan) {
      const group = GROUPS[fault.kind];
      await pause(fault.afterMs, undefined, { signal: over }).catch(() => undefined); // the load ends
      await this.#busy.get(group);
      if (over.aborted) break;
      const strike = this.#strike(fault, group);
      strike.catch(() => undefined); // the next of its group, or the end, hears of it
      this.#busy.set(group, strike);
    }
    await Promise.all(this.#busy.values());
  }

  /** Whatever was struck has as long in peace afterwards: otherwise nothing would be under way that a fault can break. */
  async #strike(fault: PlannedFault, group: Group): Promise<void> {
    const at = Date.now();
    this.underWay.add(fault.kind);
    if (group === 'server' || group === 'listener') {
      const way = fault.kind.slice(group.length + 1) as keyof typeof WAYS; // as the kinds are made of both
      await this.#company.replace(group, fault.which, WAYS[way]);
    } else await this.#place.strike(fault);
    this.underWay.delete(fault.kind);
    const until = Date.now();
    this.done.push({ kind: fault.kind, at, until });
    await pause(Math.min(until - at, LONGEST_CALM_MS));
  }
}

import { silentLogger } from '@ebbgate/core';
import {
  type CellAccess,
  CellRegistry,
  type ConductorApi,
  Liveness,
  Moves,
  type Networking,
} from '@ebbgate/compute';
import type { ConductorContext } from '#compute/conductor/conductor-context.js';
import { HostChoice } from '#compute/conductor/host-choice.js';
import { conductorEndpoint } from '#compute/conductor/manager.js';
import type { TwoCells } from './two-cells.js';

/** What changes something, somewhere. */
const CHANGES: ReadonlySet<PropertyKey> = new Set([
  'create',
  'update',
  'transfer',
  'release',
  'set',
  'adopt',
  'deallocate',
  'remove',
  'selectDestinations',
  'call',
  'cast',
]);

/** What a conductor does until it dies: from then on nothing that it has in hand does anything any more. */
export class Lifeline {
  readonly #dieAt: number;
  readonly #inFlight: boolean;
  /** Told of each change before it is counted: counting begins when it says so. */
  readonly #begins: (method: string) => boolean;
  #counts = false;
  #steps = 0;
  #dead = false;

  /**
   * @param dieAt - the change at which it dies, from 1
   * @param inFlight - that one happens all the same, and its answer is not heard
   */
  constructor(dieAt: number, inFlight: boolean, begins: (method: string) => boolean = () => true) {
    this.#dieAt = dieAt;
    this.#inFlight = inFlight;
    this.#begins = begins;
  }

  get dead(): boolean {
    return this.#dead;
  }

  /** The object with this life: each of its methods ends with it. */
  guard<T extends object>(object: T): T {
    return new Proxy(object, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        return (...args: readonly unknown[]): Promise<unknown> =>
          this.#take(name, async () => Reflect.apply(member, target, args) as unknown);
      },
    });
  }

  async #take(name: PropertyKey, work: () => Promise<unknown>): Promise<unknown> {
    this.#check();
    if (CHANGES.has(name)) {
      this.#counts ||= this.#begins(String(name));
      if (this.#counts) this.#steps += 1;
      if (this.#steps === this.#dieAt) {
        this.#dead = true;
        if (this.#inFlight) void work().catch(() => undefined);
      }
      this.#check();
    }
    const result = await work();
    this.#check();
    return result;
  }

  #check(): void {
    if (this.#dead) throw new Error('The conductor is dead, as ordered');
  }
}

/** What users ask for in a cell whose conductor has this life, and what resolves when that has ended or died. */
export async function movesBy(
  { registry }: TwoCells,
  own: CellAccess,
  life: Lifeline,
): Promise<{ readonly moves: Moves; readonly done: () => Promise<unknown> }> {
  const { mappings, images } = registry;
  const its = new CellRegistry({
    mappings: life.guard(mappings),
    images: life.guard(images),
    beatMs: 600_000,
  });
  for (const cell of await registry.others('')) its.add(guardCell(cell, life));
  const endpoint = conductorEndpoint(conductorIn(await its.get(own.name), its)) as Readonly<
    Record<string, (context: unknown, args: unknown) => Promise<unknown>>
  >;
  let done: Promise<unknown> = Promise.resolve();
  const cast = async (context: unknown, method: string, args: unknown): Promise<void> => {
    done = Promise.resolve(endpoint[method]?.(context, args)).catch(() => undefined);
  };
  const { records, computeApi, networking } = own;
  const parts = { records, computeApi, liveness: new Liveness(), cells: registry };
  const moves = new Moves({
    ...parts,
    conductor: { cast } as unknown as ConductorApi, // of which only this is used
    networking: networking, // not used
  });
  return { moves, done: () => done };
}

/** A conductor of a cell. */
export function conductorIn(own: CellAccess, registry: CellRegistry): ConductorContext {
  const { records, computeApi, scheduler } = own;
  return {
    records,
    computeApi,
    scheduler,
    hosts: new HostChoice(),
    networking: own.networking as unknown as Networking, // not used by these tasks
    migrateMaxRetries: -1,
    allowResizeToSameHost: false,
    emit: () => undefined,
    logger: silentLogger,
    cells: { own: own.name, registry },
  };
}

function guardCell(
  { name, records, computeApi, scheduler, networking }: CellAccess,
  life: Lifeline,
): CellAccess {
  const { instances, migrations, services, allocations } = records;
  return {
    name,
    records: {
      instances: life.guard(instances),
      migrations: life.guard(migrations),
      services: life.guard(services),
      allocations: life.guard(allocations),
    },
    computeApi: life.guard(computeApi),
    scheduler: life.guard(scheduler),
    networking: life.guard(networking),
  };
}

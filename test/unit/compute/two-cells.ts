import { silentLogger } from '@ebbgate/core';
import { CellRegistry, CellRouter, HypervisorNetwork, type Migration, type Moves } from '@ebbgate/compute';
import { MemoryMappings } from '#compute/db/instance-mappings.js';
import { Cloud, type CloudOptions } from '#compute/main-job/cloud.js';
import { RecordedJob } from '#compute/main-job/recorded-job.js';
import { BIGGER, THIRD } from './resize-words.js';
import { DEST, SOURCE, TestCloud } from './test-cloud.js';

export const FIRST_CELL = 'cell1';
export const SECOND_CELL = 'cell2';
let sites = 0;

/** All that a move to another cell changes, in both. */
export interface CellsOutcome {
  /** `vm/task@host`, and marks: what the records of each cell say of the instance; `-`: nothing. */
  readonly instance: readonly [first: string, second: string];
  /** Statuses of the newest migration in each, with the same marks. */
  readonly migration: readonly [first: string, second: string];
  /** Guests on all hosts, as `host:state`. */
  readonly guests: readonly string[];
  /** Hosts that keep something of a guest that has left. */
  readonly kept: readonly string[];
  /** Where the ports are active, in each cell; `null`: nowhere. */
  readonly bound: readonly [string | null, string | null];
  /** As `consumer@host:MiB`. */
  readonly allocations: readonly string[];
  /** Images that are left over. */
  readonly images: number;
  /** The cell that the instance is in, for its users. */
  readonly cell: string;
}

/** Two cells, each with its broker, its records, its conductor and its hosts, and tests' words for both. */
export class TwoCells {
  readonly first: TestCloud;
  readonly second: TestCloud;
  readonly registry: CellRegistry;
  readonly hypervisors: HypervisorNetwork;
  readonly moves: CellRouter<Moves>;

  constructor(first: TestCloud, second: TestCloud, registry: CellRegistry, hypervisors: HypervisorNetwork) {
    this.first = first;
    this.second = second;
    this.registry = registry;
    this.hypervisors = hypervisors;
    const moves = [
      [FIRST_CELL, first.cloud.moves],
      [SECOND_CELL, second.cloud.moves],
    ] as const;
    this.moves = new CellRouter(registry, new Map(moves));
  }

  /** Asks for another size; no other host of the first cell is there to give it. */
  async resize(uuid: string): Promise<void> {
    await (await this.moves.of(uuid)).resize(this.first.recorded.context, uuid, BIGGER);
  }

  async confirm(uuid: string): Promise<Migration> {
    return (await this.moves.of(uuid)).confirmResize(this.first.recorded.context, uuid);
  }

  async revert(uuid: string): Promise<Migration> {
    return (await this.moves.of(uuid)).revertResize(this.first.recorded.context, uuid);
  }

  /** Boots an instance in the first cell and moves it to the second. */
  async bootMoved(): Promise<string> {
    const uuid = await this.first.bootActive(SOURCE);
    await this.resize(uuid);
    await this.moved(uuid);
    return uuid;
  }

  /** Resolves when the instance is in the second cell, for everybody to see. */
  async moved(uuid: string): Promise<void> {
    await this.second.becomes(uuid, 'resized/-');
    await this.first.migrationBecomes(uuid, 'finished');
    await this.settled();
  }

  /** Resolves when nothing runs on any host or conductor. */
  async settled(): Promise<void> {
    for (const { cloud } of [this.first, this.second]) {
      for (const conductor of cloud.conductors) await conductor.registry.whenIdle();
      for (const host of cloud.hosts.values()) await host.process.service.registry.whenIdle();
    }
  }

  async outcome(uuid: string): Promise<CellsOutcome> {
    const cells = [this.first, this.second] as const;
    const states = await Promise.all(cells.map((cell) => instanceIn(cell, uuid)));
    const statuses = await Promise.all(cells.map((cell) => migrationIn(cell, uuid)));
    const hosts = [SOURCE, DEST, THIRD];
    const allocations = await Promise.all(cells.map((cell) => allocationsIn(cell, uuid)));
    return {
      instance: [states[0] ?? '', states[1] ?? ''],
      migration: [statuses[0] ?? '', statuses[1] ?? ''],
      guests: hosts.flatMap((host) => {
        const state = this.hypervisors.storeOf(host).state(uuid);
        return state === undefined ? [] : [`${host}:${state}`];
      }),
      kept: hosts.filter((host) => this.hypervisors.storeOf(host).kept().includes(uuid)),
      bound: [this.first.cloud.networking.boundTo(uuid), this.second.cloud.networking.boundTo(uuid)],
      allocations: allocations.flat().sort(),
      images: this.hypervisors.images.list().length,
      cell: (await this.registry.ofInstance(uuid)).name,
    };
  }
}

function marked(text: string, record: { find(name: 'hidden' | 'deleted'): boolean | undefined }): string {
  const marks = (['hidden', 'deleted'] as const).filter((name) => record.find(name) === true);
  return [text, ...marks].join(' ');
}

async function instanceIn({ cloud }: TestCloud, uuid: string): Promise<string> {
  const known = await cloud.records.instances.get(uuid).catch(() => undefined);
  if (!known) return '-';
  const [vm, task] = [known.get('vm_state'), known.get('task_state') ?? '-'];
  return marked(`${vm}/${task}@${String(known.find('host'))}`, known);
}

async function migrationIn({ cloud }: TestCloud, uuid: string): Promise<string> {
  const { migrations } = cloud.records;
  const where = { instance_uuid: uuid };
  const found = [...(await migrations.find(where)), ...(await migrations.find({ ...where, deleted: true }))];
  const last = found.sort((a, b) => a.get('id') - b.get('id')).at(-1);
  return last ? marked(last.get('status'), last) : '-';
}

async function allocationsIn({ cloud }: TestCloud, uuid: string): Promise<readonly string[]> {
  const found = await cloud.records.allocations.find({});
  return found.map(
    ({ consumer, host, resources }) =>
      `${consumer === uuid ? 'instance' : 'migration'}@${host}:${resources.memoryMb}`,
  );
}

/** As it was before it was to be moved. */
export function asBefore(changes: Partial<CellsOutcome> = {}): CellsOutcome {
  return {
    instance: [`active/-@${SOURCE}`, '-'],
    migration: ['error', '-'],
    guests: [`${SOURCE}:running`],
    kept: [],
    bound: [SOURCE, null],
    allocations: [`instance@${SOURCE}:512`],
    images: 0,
    cell: FIRST_CELL,
    ...changes,
  };
}

/** Moved, and waiting for its user's word. */
export const MOVED: CellsOutcome = {
  instance: [`active/resize_migrated@${SOURCE} hidden`, `resized/-@${DEST}`],
  migration: ['finished hidden', 'finished'],
  guests: [`${DEST}:running`],
  kept: [SOURCE],
  bound: [SOURCE, DEST],
  allocations: [`instance@${DEST}:1024`, `migration@${SOURCE}:512`],
  images: 0,
  cell: SECOND_CELL,
};

/** Runs `work` on two cells: one has the host {@link SOURCE}, the other one {@link DEST}, or as told. */
export async function withTwoCells(
  options: Partial<CloudOptions> & {
    readonly beatMs?: number;
    readonly hostsThere?: readonly string[];
    readonly images?: boolean;
  },
  work: (cells: TwoCells) => Promise<void>,
): Promise<void> {
  sites += 1;
  const { beatMs = 20, hostsThere = [DEST], images = true, ...wishes } = options;
  const hypervisors = new HypervisorNetwork();
  const removal = { remove: async (id: string): Promise<void> => hypervisors.images.remove(id) };
  const registry = new CellRegistry({
    mappings: new MemoryMappings(),
    beatMs,
    takeOverMs: 600_000, // no move is taken up but by a test that is about it
    ...(images && { images: removal }),
  });
  const recorded = await RecordedJob.read();
  const cellOf = (name: string, hosts: readonly string[]): TestCloud => {
    const cloud = new Cloud({
      transport: `memory://${name}-${sites}/`,
      hosts,
      bootMs: 0,
      migrationMs: 0,
      opsServer: true,
      tasksMs: 20_000,
      recheckMs: 50,
      logger: silentLogger,
      hypervisors,
      cells: { own: name, registry },
      ...wishes,
    });
    registry.add(cloud.access(name, silentLogger));
    return new TestCloud(cloud, recorded);
  };
  const first = cellOf(FIRST_CELL, [SOURCE]);
  const second = cellOf(SECOND_CELL, hostsThere);
  await Promise.all([first.cloud.start(), second.cloud.start()]);
  try {
    await work(new TwoCells(first, second, registry, hypervisors));
  } finally {
    await Promise.all([first.cloud.stop(), second.cloud.stop()]);
  }
}

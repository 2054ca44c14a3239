import { createTransport, silentLogger, type Transport } from '@ebbgate/core';
import {
  CellRegistry,
  ComputeApi,
  type ComputeApiOptions,
  type ConductorCells,
  conductorService,
  HypervisorNetwork,
} from '@ebbgate/compute';
import { MemoryJournal } from '#compute/compute/request-journal.js';
import { MemoryMappings } from '#compute/db/instance-mappings.js';
import { Cloud } from '#compute/main-job/cloud.js';
import type { RecordedJob } from '#compute/main-job/recorded-job.js';
import { LocalScheduler } from '#compute/scheduler/local-scheduler.js';
import type { DrainReport, Service } from '@ebbgate/service';
import { DEST, SOURCE, TestCloud } from '../../unit/compute/test-cloud.js';
import { FIRST_CELL, SECOND_CELL, TwoCells } from '../../unit/compute/two-cells.js';
import { pass } from './simulated-time.js';
import { Ledger } from './ledger.js';
import { steppedDriver } from './stepped-driver.js';
import { steppedRecords } from './stepped-records.js';
import type { Life, Steps } from './steps.js';

export const CONDUCTOR = 'conductor';
/** From the end of a process that was asked to end to its next start: longer than any caller waits without a sign of life. */
const AWAY_MS = 120_000;
/** The same when it was killed. */
const DEAD_MS = 5000;
const SECOND_CONDUCTOR = 'conductor-2';
let sites = 0;

/** A broker, records, hosts, and what a conductor has written down. */
interface Cell {
  readonly name: string;
  readonly url: string;
  readonly conductor: string;
  readonly test: TestCloud;
  readonly journal: MemoryJournal;
}

/** How the end of a process was, that was asked to end. */
export interface Drained {
  readonly owner: string;
  readonly code: number;
  /** What is not as it is to be; nothing when it was clean. */
  readonly problems: readonly string[];
}

/** How a site is to be. */
export interface SiteOptions {
  /** Two cells, with a host in each; else one with both. */
  readonly cells: boolean;
  readonly opsServer: boolean;
}

/** Hosts and conductors whose steps are known, and whose processes can be ended and started again. */
export class Site {
  readonly ledger: Ledger = new Ledger();
  readonly steps: Steps;
  readonly #cells: readonly Cell[];
  readonly #conductors = new Map<string, Service>();
  readonly #mappings = new MemoryMappings();
  readonly #machines = new HypervisorNetwork();
  readonly #apiRegistry: CellRegistry;
  /** How conductors call hosts. */
  readonly #api: ComputeApiOptions;

  constructor(recorded: RecordedJob, steps: Steps, { cells, opsServer }: SiteOptions) {
    sites += 1;
    this.steps = steps;
    this.#api = opsServer ? {} : { versionCap: '6.4' };
    this.#apiRegistry = new CellRegistry({ mappings: this.#mappings });
    const cell = (name: string, conductor: string, hosts: readonly string[]): Cell => {
      const url = `memory://matrix-${String(sites)}-${name}/`;
      const cloud = new Cloud({
        transport: url,
        hosts,
        bootMs: 500,
        migrationMs: 2000,
        opsServer,
        tasksMs: 160_000,
        recheckMs: 10_000,
        logger: silentLogger,
        hypervisors: this.#machines,
        transportOf: (owner) => this.#transportOf(url, steps.lifeOf(owner)),
        recordsOf: (host, records) => steppedRecords(steps, () => steps.lifeOf(host), records),
        ...(cells && { cells: { own: name, registry: this.#apiRegistry } }),
        conductors: 0,
      });
      return { name, url, conductor, test: new TestCloud(cloud, recorded), journal: new MemoryJournal() };
    };
    this.#cells = cells
      ? [cell(FIRST_CELL, CONDUCTOR, [SOURCE]), cell(SECOND_CELL, SECOND_CONDUCTOR, [DEST])]
      : [cell(FIRST_CELL, CONDUCTOR, [SOURCE, DEST])];
    for (const { name, test } of this.#cells) this.#apiRegistry.add(test.cloud.access(name, silentLogger));
  }

  /** The first cell, and often the only one. */
  get test(): TestCloud {
    return this.#cell(FIRST_CELL).test;
  }

  /** Both cells. */
  get both(): TwoCells {
    return new TwoCells(this.test, this.#cell(SECOND_CELL).test, this.#apiRegistry, this.#machines);
  }

  async start(): Promise<void> {
    for (const cell of this.#cells) await this.#startConductor(cell);
    for (const { test } of this.#cells) await test.cloud.start();
  }

  async stop(): Promise<void> {
    for (const { test } of this.#cells) await test.cloud.stop();
    for (const conductor of this.#conductors.values()) await conductor.drain('the end');
  }

  /** Nothing is under way at any host or conductor, nor written down there. */
  get isIdle(): boolean {
    const hosts = this.#cells.flatMap(({ test }) => [...test.cloud.hosts.values()]);
    const registries = [...this.#conductors.values(), ...hosts.map(({ process }) => process.service)];
    const isIdle = registries.every(({ registry }) => registry.snapshot().length === 0);
    return isIdle && this.#cells.every(({ journal }) => journal.isEmpty);
  }

  /** Of a host: it runs; or it is no host. */
  isUp(server: string): boolean {
    return this.#cells.every(({ test }) => test.cloud.hosts.get(server)?.process.service.state !== 'exited');
  }

  /** SIGTERM to one of them, and its next start once it has ended. */
  async drain(owner: string): Promise<Drained> {
    const cell = this.#cells.find(({ conductor }) => conductor === owner);
    if (cell) {
      const report = await this.#endConductor(cell, {});
      await pass(AWAY_MS);
      await this.#startConductor(cell);
      return { owner, code: report.outcome === 'clean' ? 0 : 3, problems: problemsIn(report) };
    }
    const host = this.#cellOf(owner).test.cloud.host(owner);
    const { code, report } = await host.terminate();
    await pass(AWAY_MS);
    await host.start();
    return { owner, code, problems: problemsIn(report) };
  }

  /** kill -9 to one of them, and its next start. */
  async kill(owner: string): Promise<void> {
    this.steps.kill(owner);
    const cell = this.#cells.find(({ conductor }) => conductor === owner);
    if (cell) {
      await this.#endConductor(cell, { withinMs: 0 });
      await pass(DEAD_MS);
      await this.#startConductor(cell);
      return;
    }
    const host = this.#cellOf(owner).test.cloud.host(owner);
    host.process.terminate('SIGTERM');
    host.process.terminate('SIGINT'); // during a drain: at once
    await host.process.done;
    await pass(DEAD_MS);
    await host.start();
  }

  #cell(name: string): Cell {
    const cell = this.#cells.find((one) => one.name === name);
    if (!cell) throw new RangeError(`There is no cell ${name}`);
    return cell;
  }

  #cellOf(host: string): Cell {
    const cell = this.#cells.find(({ test }) => test.cloud.hosts.has(host));
    if (!cell) throw new RangeError(`There is no host ${host}`);
    return cell;
  }

  async #endConductor({ conductor }: Cell, options: { readonly withinMs?: number }): Promise<DrainReport> {
    const service = this.#conductors.get(conductor);
    if (!service) throw new RangeError(`${conductor} does not run`);
    return service.drain(options.withinMs === 0 ? 'killed' : 'SIGTERM', options);
  }

  async #startConductor({ name, url, conductor, test, journal }: Cell): Promise<void> {
    const { steps } = this;
    const life = steps.lifeOf(conductor);
    const cells = this.#cells.length > 1 && { cells: this.#cellsOf(name, life) };
    const { service } = conductorService({
      name: conductor,
      transport: this.#transportOf(url, life),
      records: steppedRecords(steps, () => life, test.cloud.records),
      networking: test.cloud.networking,
      journal,
      logger: silentLogger,
      api: this.#api,
      ...cells,
    });
    this.#conductors.set(conductor, service);
    await service.start();
  }

  /** The cells as one run of a conductor has them. */
  #cellsOf(own: string, life: Life): ConductorCells {
    const { steps } = this;
    const registry = new CellRegistry({
      mappings: {
        find: (uuid) => steps.question(life, () => this.#mappings.find(uuid)),
        set: (uuid, cell) => steps.change(life, 'cell of the instance', () => this.#mappings.set(uuid, cell)),
        countIn: (cell) => steps.question(life, () => this.#mappings.countIn(cell)),
      },
      images: { remove: async (id) => this.#machines.images.remove(id) },
    });
    for (const { name, url, test } of this.#cells) {
      const records = steppedRecords(steps, () => life, test.cloud.records);
      registry.add({
        name,
        records,
        computeApi: new ComputeApi(this.#transportOf(url, life), this.#api),
        networking: test.cloud.networking,
        scheduler: new LocalScheduler({ records, logger: silentLogger }),
      });
    }
    return { own, registry };
  }

  #transportOf(url: string, life: Life): Transport {
    return createTransport(url, {
      drivers: [steppedDriver(this.steps, this.ledger, life)],
      logger: silentLogger,
      controlExchange: 'nova',
    });
  }
}

function problemsIn({ unfinished, problems }: DrainReport): readonly string[] {
  return [...unfinished.map(({ name }) => `${name} is unfinished`), ...problems];
}

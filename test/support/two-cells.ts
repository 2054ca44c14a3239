import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HypervisorDirectory } from '@ebbgate/compute';
import { expect } from 'chai';
import { DaemonProcess } from './daemon-process.js';
import { OperatorCli } from './operator-cli.js';

/** Two cells, each a broker, or a part of one, and a database, with a compute host each; the first has two conductors. */
export class TwoCells {
  readonly folder: string;
  readonly urls: readonly [string, string];
  readonly machines: HypervisorDirectory;
  readonly daemons = new Map<string, DaemonProcess>();
  /** An operator who has the API database, and so all cells. */
  readonly all: OperatorCli;
  /** One who has the broker of the first cell. */
  readonly first: OperatorCli;

  private constructor(folder: string, urls: readonly [string, string]) {
    this.folder = folder;
    this.urls = urls;
    this.machines = new HypervisorDirectory(join(folder, 'guests'));
    this.all = new OperatorCli({ EBBGATE_API_DATABASE: this.database('api') });
    this.first = new OperatorCli({ EBBGATE_URL: urls[0] });
  }

  database(name: string): string {
    return `sqlite:///${join(this.folder, name)}.sqlite`;
  }

  /** Resolves when all of it serves. @param urls - the transport of each cell */
  static async start(urls: readonly [string, string]): Promise<TwoCells> {
    const cells = new TwoCells(await mkdtemp(join(tmpdir(), 'ebbgate-test-')), urls);
    await cells.#start();
    return cells;
  }

  async #start(): Promise<void> {
    const create = async (cell: string, url: string): Promise<void> => {
      const its = { EBBGATE_URL: url, EBBGATE_DATABASE: this.database(cell) };
      const cli = new OperatorCli({ ...its, EBBGATE_API_DATABASE: this.database('api') });
      expect(await cli.ok('cell', 'create', cell)).to.equal(`${cell} is a cell\n`);
    };
    await Promise.all([create('cell1', this.urls[0]), create('cell2', this.urls[1])]);
    await Promise.all([
      this.#conductor('c1', 'cell1'),
      this.#conductor('c2', 'cell1'),
      this.#conductor('c3', 'cell2'),
      this.#compute('a', this.urls[0]),
      this.#compute('b', this.urls[1]),
    ]);
  }

  async #conductor(name: string, cell: 'cell1' | 'cell2'): Promise<void> {
    const databases = ['--database', this.database(cell), '--api-database', this.database('api')];
    const argv = ['conductor', '--name', name, '--cell', cell, '--scheduler', 'local', ...databases];
    await this.#daemon(name, this.urls[cell === 'cell1' ? 0 : 1], argv);
  }

  async #compute(host: string, url: string): Promise<void> {
    const argv = ['compute', '--host', host, '--state-dir', join(this.folder, 'guests'), '--boot-ms', '20'];
    await this.#daemon(host, url, argv);
  }

  async #daemon(name: string, url: string, argv: readonly string[]): Promise<void> {
    const daemon = new DaemonProcess(url, argv, { limitMs: 300_000 });
    this.daemons.set(name, daemon);
    await daemon.serves();
  }

  /** Boots an instance in the first cell. */
  async boot(name: string): Promise<string> {
    const flags = ['--host', 'a', '--flavor', 'm1.small', '--wait', '--json'];
    return (JSON.parse(await this.all.ok('instance', 'boot', name, ...flags)) as { id: string }).id;
  }

  /** `state/task@host` of every instance, as this operator sees them. */
  async list(cli: OperatorCli): Promise<readonly string[]> {
    const found = JSON.parse(await cli.ok('instance', 'list', '--json')) as Record<string, unknown>[];
    return found.map((one) =>
      ['name', 'vm_state', 'task_state', 'host'].map((field) => String(one[field])).join(' '),
    );
  }

  async dispose(): Promise<void> {
    for (const { child } of this.daemons.values()) child.kill('SIGKILL');
    await Promise.all([...this.daemons.values()].map(({ ended }) => ended));
    await rm(this.folder, { recursive: true });
  }
}

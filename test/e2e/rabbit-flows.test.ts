import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTransport, type Transport } from '@ebbgate/core';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import { HypervisorDirectory, type Instance, type Migration, RemoteRecords } from '@ebbgate/compute';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { DaemonProcess } from '../support/daemon-process.js';
import { OperatorCli } from '../support/operator-cli.js';
import { eventually } from '../support/rigs/deadline.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';

const rabbit = await sharedRabbit();
const LIMIT_MS = 20_000;
/** How long moves from each host take: those of the first are to be caught in the middle. */
const MOVE_MS = { a: 30_000, b: 300, c: 300 } as const;
type Host = keyof typeof MOVE_MS;

/** A cloud whose services are processes, with its records in SQLite, and an operator who types commands. */
class Site {
  readonly cli: OperatorCli;
  readonly records: RemoteRecords;
  readonly machines: HypervisorDirectory;
  readonly computes = new Map<Host, DaemonProcess>();
  readonly #transport: Transport;
  readonly #url: string;
  readonly #folder: string;
  readonly #daemons: DaemonProcess[] = [];

  constructor(url: string, folder: string) {
    this.#url = url;
    this.#folder = folder;
    this.cli = new OperatorCli({ EBBGATE_URL: url });
    this.#transport = createTransport(url, { drivers: [rabbitDriver], controlExchange: 'nova' });
    this.records = new RemoteRecords(this.#transport, { timeoutMs: 10_000 });
    this.machines = new HypervisorDirectory(join(folder, 'guests'));
  }

  async start(): Promise<void> {
    const database = ['--database', `sqlite:///${join(this.#folder, 'nova.sqlite')}`];
    await this.#daemon('conductor', '--name', 'c1', ...database);
    await Promise.all([
      this.#daemon('scheduler', '--name', 's1', ...database),
      ...(['a', 'b', 'c'] as const).map((host) => this.compute(host)),
    ]);
  }

  async compute(host: Host, moveMs: number = MOVE_MS[host]): Promise<DaemonProcess> {
    const guests = ['--state-dir', join(this.#folder, 'guests')];
    const times = ['--boot-ms', '20', '--migration-ms', String(moveMs), '--recheck-interval', '0.5'];
    const daemon = await this.#daemon('compute', '--host', host, ...guests, ...times);
    this.computes.set(host, daemon);
    return daemon;
  }

  async #daemon(...argv: string[]): Promise<DaemonProcess> {
    const daemon = new DaemonProcess(this.#url, argv);
    this.#daemons.push(daemon);
    await (argv[0] === 'compute' ? daemon.serves() : daemon.event(({ kind }) => kind === 'serves'));
    return daemon;
  }

  /** Boots an instance there; gives its uuid. */
  async boot(name: string, host: Host): Promise<string> {
    const flags = ['--host', host, '--flavor', 'm1.small', '--wait', '--json'];
    const said = await this.cli.ok('instance', 'boot', name, ...flags);
    return (JSON.parse(said) as { id: string }).id;
  }

  /** `state/task@host` of an instance, the status of its last migration, and where its guest and its claims are. */
  async all(uuid: string): Promise<readonly (string | readonly string[])[]> {
    const instance = await this.records.instances.get(uuid);
    const migration = await this.lastMove(uuid);
    const claims = await this.records.allocations.find({ consumer: uuid });
    return [
      placeOf(instance),
      migration?.get('status') ?? 'none',
      this.machines.locate(uuid),
      claims.map(({ host, resources }) => `${host}:${resources.memoryMb}`).sort(),
    ];
  }

  async lastMove(uuid: string): Promise<Migration | undefined> {
    return (await this.records.migrations.find({ instance_uuid: uuid })).at(-1);
  }

  async moveIs(uuid: string, isIt: (migration: Migration) => boolean): Promise<void> {
    await eventually('the migration comes into its state', LIMIT_MS, async () => {
      const migration = await this.lastMove(uuid);
      return migration !== undefined && isIt(migration);
    });
  }

  async dispose(): Promise<void> {
    for (const { child } of this.#daemons) child.kill('SIGKILL');
    await Promise.all(this.#daemons.map(({ ended }) => ended));
    await this.#transport.close();
    await rm(this.#folder, { recursive: true });
  }
}

function placeOf(instance: Instance): string {
  return `${instance.get('vm_state')}/${instance.get('task_state') ?? '-'}@${instance.find('host') ?? '-'}`;
}

const isCopying = (migration: Migration): boolean =>
  migration.get('status') === 'running' && (migration.find('memory_processed') ?? 0) > 0;

describe('every flow over RabbitMQ, each service a process, driven by an operator', function () {
  this.timeout(60_000);
  let site: Site;
  let cli: OperatorCli;

  before(async () => {
    site = new Site(await rabbit.vhost(), await mkdtemp(join(tmpdir(), 'ebbgate-test-')));
    ({ cli } = site);
    await site.start();
  });

  after(() => site.dispose());

  it('boots where it is asked to, and where the scheduler chooses; stops, starts, reboots, copies, deletes', async () => {
    const uuid = await site.boot('vm1', 'b');
    expect(await site.all(uuid)).to.deep.equal(['active/-@b', 'none', ['b'], ['b:2048']]);
    expect(await cli.ok('instance', 'boot', 'any', '--wait')).to.match(/any: active\/- at [abc]\n$/);
    expect(await cli.ok('instance', 'stop', 'vm1', '--wait')).to.match(
      /^vm1 stops\n.*vm1: stopped\/- at b\n$/s,
    );
    expect(site.machines.storeOf('b').state(uuid)).to.equal('shutdown');
    const refused = await cli.run(['instance', 'reboot', 'vm1']);
    expect(refused).to.deep.equal({
      code: 1,
      out: '',
      err: 'error: Cannot reboot vm1: vm_state is stopped, and must be active\n',
    });
    await cli.ok('instance', 'start', 'vm1', '--wait');
    await cli.ok('instance', 'reboot', 'vm1', '--hard', '--wait');
    expect(site.machines.storeOf('b').state(uuid)).to.equal('running');
    expect(await cli.ok('instance', 'snapshot', 'vm1', '--wait')).to.match(
      /^vm1 is being copied: image [0-9a-f-]{36}\n/,
    );
    expect(await cli.ok('instance', 'console', 'vm1', '--lines', '2')).to.contain(uuid);
    await cli.ok('instance', 'rebuild', 'vm1', '--image', 'other', '--wait');
    expect((await site.records.instances.get(uuid)).get('image_ref')).to.equal('other');
    await Promise.all([
      cli.ok('instance', 'delete', 'vm1', '--wait'),
      cli.ok('instance', 'delete', 'any', '--wait'),
    ]);
    expect(await site.all(uuid)).to.deep.equal(['deleted/-@b', 'none', [], []]);
    expect(await cli.ok('instance', 'list')).to.match(/^ID .*\n$/);
  });

  it('moves live; an abort takes it back, force-complete ends it, and watch sees how far it is', async () => {
    const uuid = await site.boot('live', 'a');
    expect(await cli.ok('instance', 'live-migrate', 'live', '--host', 'b')).to.equal('live is being moved\n');
    await site.moveIs(uuid, isCopying);
    expect(await cli.ok('instance', 'list')).to.match(
      / live +active +migrating +a +m1.small +a -> b running \[#*-+\] +\d+ %/,
    );
    expect(await cli.ok('instance', 'abort', 'live', '--wait')).to.contain('migration a -> b cancelled');
    expect(await site.all(uuid)).to.deep.equal(['active/-@a', 'cancelled', ['a'], ['a:2048']]);
    await cli.ok('instance', 'live-migrate', 'live', '--host', 'b');
    const watched = await cli.run(['instance', 'watch'], 'a -> b running, 0 % copied');
    expect(watched.code, watched.err).to.equal(130);
    expect(watched.out).to.contain('a: up').and.contain('live: active/migrating at a');
    await cli.ok('instance', 'force-complete', 'live', '--wait');
    expect(await site.all(uuid)).to.deep.equal(['active/-@b', 'completed', ['b'], ['b:2048']]);
    await cli.ok('instance', 'live-migrate', 'live', '--host', 'c', '--wait');
    expect(await site.all(uuid)).to.deep.equal(['active/-@c', 'completed', ['c'], ['c:2048']]);
    await cli.ok('instance', 'delete', 'live', '--wait');
  });

  it('resizes and confirms, migrates and reverts', async () => {
    expect(await cli.ok('host', 'set', 'a', '--disable', '--disable-reason', 'slow')).to.equal(
      'a is disabled\n',
    );
    const uuid = await site.boot('cold', 'b');
    await cli.ok('instance', 'resize', 'cold', '--flavor', 'm1.medium', '--wait');
    expect(await site.all(uuid)).to.deep.equal(['resized/-@c', 'finished', ['c'], ['c:4096']]);
    await cli.ok('instance', 'confirm', 'cold', '--wait');
    expect(await site.all(uuid)).to.deep.equal(['active/-@c', 'confirmed', ['c'], ['c:4096']]);
    await cli.ok('instance', 'migrate', 'cold', '--host', 'b', '--wait');
    await cli.ok('instance', 'revert', 'cold', '--wait');
    expect(await site.all(uuid)).to.deep.equal(['active/-@c', 'reverted', ['c'], ['c:4096']]);
    await cli.ok('instance', 'delete', 'cold', '--wait');
    await cli.ok('host', 'set', 'a', '--enable');
  });

  it('evacuates what was on a host that was killed; back, that one removes its guest (COMP-07, COMP-12, COMP-13, COMP-16)', async () => {
    const uuid = await site.boot('lost', 'a');
    const compute = site.computes.get('a');
    compute?.child.kill('SIGKILL');
    await compute?.ended;
    expect((await cli.run(['instance', 'evacuate', 'lost'])).err).to.match(
      /Cannot evacuate lost: .* of a is still in use/,
    );
    expect(await cli.ok('host', 'set', 'a', '--down')).to.equal('a is forced down\n');
    expect((await cli.run(['instance', 'stop', 'lost'])).err).to.equal(
      'error: Cannot stop lost: Compute service of a is down\n',
    );
    await cli.ok('instance', 'evacuate', 'lost', '--host', 'b', '--wait');
    expect(await site.all(uuid)).to.deep.equal(['active/-@b', 'done', ['a', 'b'], ['a:2048', 'b:2048']]);
    const early = await cli.run(['host', 'set', 'a', '--up']);
    expect(early.err).to.match(/^error: 1 instance was evacuated from a, and not yet removed there/);
    const back = site.compute('a', 2000); // it serves when the flag is cleared, and cleans up before
    await eventually('its guest is removed', LIMIT_MS, () => site.machines.locate(uuid).join() === 'b');
    await eventually('the evacuation is completed', LIMIT_MS, async () => {
      return (await site.lastMove(uuid))?.get('status') === 'completed';
    });
    expect(await cli.ok('host', 'set', 'a', '--up')).to.equal('a is starting\n');
    await back;
    expect(await cli.ok('migration', 'list', '--instance', 'lost')).to.match(
      / lost +evacuation +a -> b completed\n/,
    );
    expect((await site.all(uuid)).at(-1)).to.deep.equal(['b:2048']);
    await cli.ok('instance', 'delete', 'lost', '--wait');
  });

  for (const end of ['source', 'destination'] as const) {
    it(`finishes a resize whose ${end} gets SIGTERM in the middle, exits with 0, and loses nothing (GS-2, GS-5, GS-6, GS-8, GS-68, GS-76)`, async () => {
      const uuid = await site.boot('moving', 'a');
      await cli.ok('instance', 'migrate', 'moving', '--host', 'c');
      await site.moveIs(uuid, (migration) => migration.get('status') === 'migrating');
      const drained = end === 'source' ? 'a' : 'c';
      const compute = site.computes.get(drained);
      compute?.child.kill('SIGTERM');
      expect(await compute?.ended, compute?.log).to.deep.equal({ code: 0, signal: null });
      await site.moveIs(uuid, (migration) => migration.get('status') === 'finished');
      expect(await site.all(uuid)).to.deep.equal(['resized/-@c', 'finished', ['c'], ['c:2048']]);
      await site.compute(drained, 2000);
      await cli.ok('instance', 'confirm', 'moving', '--wait');
      expect(await site.all(uuid)).to.deep.equal(['active/-@c', 'confirmed', ['c'], ['c:2048']]);
      await cli.ok('instance', 'delete', 'moving', '--wait');
    });
  }

  it('leaves nothing behind: all claims are given back, and all processes end with 0 (GS-6)', async () => {
    expect(await site.records.allocations.find({})).to.deep.equal([]);
    expect(JSON.parse(await cli.ok('instance', 'list', '--json'))).to.deep.equal([]);
    const hosts = [...site.computes.values()];
    for (const { child } of hosts) child.kill('SIGTERM');
    expect(await Promise.all(hosts.map(({ ended }) => ended))).to.deep.equal(
      hosts.map(() => ({ code: 0, signal: null })),
    );
  });
});

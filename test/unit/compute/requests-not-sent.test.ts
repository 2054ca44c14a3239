import { expect } from 'chai';
import { describe, it } from 'mocha';
import { RecordedJob } from '#compute/main-job/recorded-job.js';
import { createTransport, MessageDeliveryError, silentLogger } from '@ebbgate/core';
import {
  ComputeApi,
  ConductorApi,
  ExternalEvents,
  HostDownError,
  InstanceActions,
  type Instance,
  InstanceExternalEvent,
  Liveness,
  MemoryRecords,
  Moves,
  Rebuilds,
  RemoteNetworking,
  Servers,
} from '@ebbgate/compute';
import { BIGGER, stateOf } from './resize-words.js';
import { DEST, SOURCE } from './test-cloud.js';

type Outcome = 'not-sent' | 'unknown';
const context = {};

/** Records of two hosts that are up, and a broker that takes nothing. */
class Unsent {
  readonly records: MemoryRecords = new MemoryRecords(() => undefined);
  readonly tried: string[] = [];
  readonly servers: Servers;
  readonly rebuilds: Rebuilds;
  readonly actions: InstanceActions;
  readonly moves: Moves;
  readonly events: ExternalEvents;
  readonly #recorded: RecordedJob;

  constructor(recorded: RecordedJob, outcome: Outcome, failing: (host: string) => boolean = () => true) {
    this.#recorded = recorded;
    const transport = createTransport('memory://requests-not-sent/', { logger: silentLogger });
    const { records } = this;
    const conductor = new ConductorApi(transport);
    conductor.cast = () => Promise.reject(new MessageDeliveryError('no broker', { outcome }));
    const computeApi = new ComputeApi(transport);
    computeApi.cast = async (_context, _method, host) => {
      this.tried.push(host);
      if (failing(host)) return Promise.reject(new MessageDeliveryError(host, { outcome }));
    };
    const networking = new RemoteNetworking(transport);
    const parts = { records, conductor, computeApi, networking, liveness: new Liveness() };
    this.servers = new Servers(parts);
    this.rebuilds = new Rebuilds(parts);
    this.actions = new InstanceActions(parts);
    this.moves = new Moves(parts);
    this.events = new ExternalEvents(records, computeApi);
  }

  /** An instance that runs at the source. */
  async instance(): Promise<Instance> {
    for (const host of [SOURCE, DEST]) {
      await this.records.services.register({
        binary: 'compute',
        host,
        state: 'serving',
        reportedAtMs: Date.now(),
      });
    }
    const changes = { vm_state: 'active', task_state: null, host: SOURCE, node: SOURCE } as const;
    const { instance } = this.#recorded.bootRequest(1, SOURCE);
    return this.records.instances.create(instance.pristine().update({ ...changes, power_state: 1 }));
  }

  boot(): Promise<unknown> {
    return this.servers.boot(context, this.#recorded.bootRequest(1, SOURCE));
  }
}

async function unsent(outcome: Outcome, failing?: (host: string) => boolean): Promise<Unsent> {
  return new Unsent(await RecordedJob.read(), outcome, failing);
}

async function errorOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => expect.fail('it must not succeed'),
    (error: unknown) => error,
  );
}

describe('a request that cannot be sent', () => {
  it('leaves a new instance in ERROR (COMP-16)', async () => {
    const cloud = await unsent('not-sent');
    const created: string[] = [];
    cloud.records.events.on('instance', (one) => created.push(stateOf(one)));
    expect(await errorOf(cloud.boot())).to.be.instanceOf(MessageDeliveryError);
    expect(created).to.deep.equal(['building/scheduling', 'error/-']);
  });

  it('leaves a new instance as it is when it may arrive yet', async () => {
    const cloud = await unsent('unknown');
    const created: string[] = [];
    cloud.records.events.on('instance', (one) => created.push(stateOf(one)));
    expect(await errorOf(cloud.boot())).to.be.instanceOf(MessageDeliveryError);
    expect(created).to.deep.equal(['building/scheduling']);
  });

  for (const [outcome, state] of [
    ['not-sent', 'active/-'],
    ['unknown', 'active/migrating'],
  ] as const) {
    it(`leaves an instance that was to move live ${state} when it is ${outcome}`, async () => {
      const cloud = await unsent(outcome);
      const uuid = (await cloud.instance()).get('uuid');
      const error = await errorOf(cloud.servers.liveMigrate(context, uuid, DEST));
      expect(error).to.be.instanceOf(MessageDeliveryError);
      expect(stateOf(await cloud.records.instances.get(uuid))).to.equal(state);
    });
  }

  for (const [outcome, state, status] of [
    ['not-sent', 'active/powering-off', 'error'],
    ['unknown', 'active/rebuilding', 'accepted'],
  ] as const) {
    it(`leaves an instance that was to be evacuated ${state}, its evacuation ${status}, when it is ${outcome} (COMP-17)`, async () => {
      const cloud = await unsent(outcome);
      const uuid = (await cloud.instance()).get('uuid');
      await cloud.records.instances.update(uuid, { task_state: 'powering-off' });
      await cloud.records.services.update('compute', SOURCE, { forcedDown: true });
      expect(await errorOf(cloud.rebuilds.evacuate(context, uuid))).to.be.instanceOf(MessageDeliveryError);
      expect(stateOf(await cloud.records.instances.get(uuid))).to.equal(state);
      const migrations = await cloud.records.migrations.find({ instance_uuid: uuid });
      expect(migrations.map((one) => one.get('status'))).to.deep.equal([status]);
    });
  }

  it('is not tried when an instance is to move live from a host that is down (COMP-16)', async () => {
    const cloud = await unsent('not-sent');
    const uuid = (await cloud.instance()).get('uuid');
    await cloud.records.services.update('compute', SOURCE, { forcedDown: true });
    const error = await errorOf(cloud.servers.liveMigrate(context, uuid, DEST));
    expect(error).to.be.instanceOf(HostDownError);
    expect(stateOf(await cloud.records.instances.get(uuid))).to.equal('active/-');
  });
});

type Ask = (cloud: Unsent, uuid: string) => Promise<unknown>;

/** What is asked of an active instance, and its state while the request is on its way. */
const ASKED: readonly (readonly [what: string, ask: Ask, meanwhile: string])[] = [
  ['to stop', ({ actions }, uuid) => actions.stop(context, uuid), 'active/powering-off'],
  ['to reboot', ({ actions }, uuid) => actions.reboot(context, uuid), 'active/rebooting'],
  ['a hard reboot', ({ actions }, uuid) => actions.reboot(context, uuid, 'hard'), 'active/rebooting_hard'],
  ['a snapshot', ({ actions }, uuid) => actions.snapshot(context, uuid), 'active/image_snapshot_pending'],
  ['a delete', ({ actions }, uuid) => actions.delete(context, uuid), 'active/deleting'],
  ['a rebuild', ({ rebuilds }, uuid) => rebuilds.rebuild(context, uuid), 'active/rebuilding'],
  ['a resize', ({ moves }, uuid) => moves.resize(context, uuid, BIGGER), 'active/resize_prep'],
];
const ENDS: readonly (readonly [what: string, ask: Ask, meanwhile: string])[] = [
  ['the confirmation', ({ moves }, uuid) => moves.confirmResize(context, uuid), 'resized/- confirming'],
  [
    'the revert',
    ({ moves }, uuid) => moves.revertResize(context, uuid),
    'resized/resize_reverting reverting',
  ],
];

describe('a request of which nobody knows whether it was sent (AMQP-02, decision 7)', () => {
  for (const outcome of ['not-sent', 'unknown'] as const) {
    const what = outcome === 'unknown' ? 'finds all that it needs' : 'leaves nothing when it was not';
    for (const [name, ask, meanwhile] of ASKED) {
      it(`${what}: ${name}`, async () => {
        const cloud = await unsent(outcome);
        const uuid = (await cloud.instance()).get('uuid');
        expect(await errorOf(ask(cloud, uuid))).to.be.instanceOf(MessageDeliveryError);
        const state = stateOf(await cloud.records.instances.get(uuid));
        expect(state).to.equal(outcome === 'unknown' ? meanwhile : 'active/-');
      });
    }

    for (const [name, ask, meanwhile] of ENDS) {
      it(`${what}: ${name} of a resize`, async () => {
        const cloud = await unsent(outcome);
        const uuid = (await cloud.instance()).get('uuid');
        await cloud.records.instances.update(uuid, { vm_state: 'resized', host: DEST });
        const { migration } = await RecordedJob.read();
        const move = { instance_uuid: uuid, source_compute: SOURCE, dest_compute: DEST } as const;
        const finished = { ...move, status: 'finished', cross_cell_move: false } as const;
        const resize = await cloud.records.migrations.create(migration.pristine().update(finished));
        expect(await errorOf(ask(cloud, uuid))).to.be.instanceOf(MessageDeliveryError);
        const state = stateOf(await cloud.records.instances.get(uuid));
        const status = (await cloud.records.migrations.get(resize.get('uuid'))).get('status');
        expect(`${state} ${status}`).to.equal(outcome === 'unknown' ? meanwhile : 'resized/- finished');
      });
    }
  }

  it('has what was being done to an instance that was to be deleted go on, when the delete was not sent', async () => {
    const cloud = await unsent('not-sent');
    const uuid = (await cloud.instance()).get('uuid');
    await cloud.records.instances.update(uuid, { task_state: 'image_uploading' });
    await errorOf(cloud.actions.delete(context, uuid));
    expect(stateOf(await cloud.records.instances.get(uuid))).to.equal('active/image_uploading');
  });
});

describe('an external event that cannot be sent to a host', () => {
  async function told(failing: (host: string) => boolean): Promise<readonly [Unsent, unknown]> {
    const cloud = await unsent('not-sent', failing);
    const uuid = (await cloud.instance()).get('uuid');
    const { migration } = await RecordedJob.read();
    const ends = {
      instance_uuid: uuid,
      source_compute: SOURCE,
      dest_compute: DEST,
      status: 'running',
    } as const;
    await cloud.records.migrations.create(migration.pristine().update(ends));
    const name = 'network-vif-plugged';
    const event = InstanceExternalEvent.create({ instance_uuid: uuid, name, status: 'completed', tag: 'p' });
    return [cloud, await errorOf(cloud.events.send(context, event))];
  }

  it('goes to the other host all the same, and is told', async () => {
    const [cloud, error] = await told((host) => host === SOURCE);
    expect(cloud.tried).to.deep.equal([SOURCE, DEST]);
    expect(error).to.be.instanceOf(MessageDeliveryError).with.property('message', SOURCE);
  });

  it('tells of all hosts that were not reached', async () => {
    const [, error] = await told(() => true);
    const errors = error instanceof AggregateError ? error.errors : [];
    expect(errors.map(String)).to.deep.equal([SOURCE, DEST].map((host) => `MessageDeliveryError: ${host}`));
  });
});

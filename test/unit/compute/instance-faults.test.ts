/** Why an operation failed is kept with the instance (`compute-rpc.md` 3), and shown to operators. */
import { MessagingError } from '@ebbgate/core';
import { RemoteError } from '@ebbgate/rpc';
import { Instance, type VirtStep } from '@ebbgate/compute';
import { faultOf } from '#compute/objects/instance-fault.js';
import { instanceLines } from '#compute/operator/instance-rows.js';
import { plainInstance } from '#compute/operator/plain-objects.js';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { bereft } from './evacuation-words.js';
import { allIdle, BIGGER, bootResized, failing, kill } from './resize-words.js';
import { DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';
import { withTwoCells } from './two-cells.js';

type Options = Parameters<typeof withCloud>[0];

interface Row {
  readonly what: string;
  readonly options?: Options;
  /** Default: it is active. */
  readonly before?: (test: TestCloud) => Promise<string>;
  /** Where which step of the hypervisor fails. */
  readonly fails?: readonly [host: string, step: VirtStep];
  readonly ask: (test: TestCloud, uuid: string) => Promise<unknown>;
  /** What the instance is then. */
  readonly state: string;
  /** Where it failed. */
  readonly host: string | null;
}

const resize = (test: TestCloud, uuid: string): Promise<unknown> =>
  test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
const migrate = (test: TestCloud, uuid: string): Promise<unknown> => test.migrate(uuid);

const ROWS: readonly Row[] = [
  {
    what: 'a pause, which leaves it active',
    fails: [SOURCE, 'pause'],
    ask: (test, uuid) => test.cloud.controls.ask({}, uuid, 'pause'),
    state: 'active/-',
    host: SOURCE,
  },
  {
    what: 'a suspend',
    fails: [SOURCE, 'suspend'],
    ask: (test, uuid) => test.cloud.controls.ask({}, uuid, 'suspend'),
    state: 'error/-',
    host: SOURCE,
  },
  {
    what: 'a stop, which leaves it active',
    fails: [SOURCE, 'power-off'],
    ask: (test, uuid) => test.cloud.actions.stop(test.recorded.context, uuid),
    state: 'active/-',
    host: SOURCE,
  },
  {
    what: 'a live migration, at its destination',
    fails: [DEST, 'pre-live-migration'],
    ask: migrate,
    state: 'active/-',
    host: SOURCE,
  },
  {
    what: 'a live migration that the conductor cannot hand over',
    options: { onSend: failing('live_migration') },
    ask: migrate,
    state: 'error/-',
    host: null,
  },
  {
    what: 'a resize, at its source',
    fails: [SOURCE, 'copy-disks'],
    ask: resize,
    state: 'error/-',
    host: SOURCE,
  },
  {
    what: 'a resize that the conductor cannot hand over',
    options: { onSend: failing('prep_resize') },
    ask: resize,
    state: 'active/-',
    host: null,
  },
  {
    what: 'a revert, at its source',
    before: bootResized,
    fails: [SOURCE, 'finish-revert'],
    ask: (test, uuid) => test.cloud.moves.revertResize(test.recorded.context, uuid),
    state: 'error/-',
    host: SOURCE,
  },
  {
    what: 'a confirmation, at its source',
    before: bootResized,
    fails: [SOURCE, 'confirm-migration'],
    ask: (test, uuid) => test.cloud.moves.confirmResize(test.recorded.context, uuid),
    state: 'error/-',
    host: SOURCE,
  },
  {
    what: 'a rebuild',
    fails: [SOURCE, 'create-disks'],
    ask: (test, uuid) => test.cloud.rebuilds.rebuild({}, uuid),
    state: 'error/-',
    host: SOURCE,
  },
  {
    what: 'an evacuation, at its destination',
    before: bereft,
    fails: [DEST, 'create-disks'],
    ask: (test, uuid) => test.cloud.rebuilds.evacuate({}, uuid),
    state: 'error/-',
    host: DEST,
  },
  {
    what: 'an evacuation for which there is no host',
    options: { hosts: [SOURCE] },
    before: bereft,
    ask: (test, uuid) => test.cloud.rebuilds.evacuate({}, uuid),
    state: 'error/-',
    host: null,
  },
  {
    what: 'a shelving, which leaves it stopped',
    fails: [SOURCE, 'upload-image'],
    ask: (test, uuid) => test.cloud.controls.shelve({}, uuid),
    state: 'stopped/-',
    host: SOURCE,
  },
];

/** Something that the end of a process cuts off, and the step in which it does. */
const CUT_OFF: readonly (Pick<Row, 'what' | 'ask' | 'state'> & { readonly in: VirtStep })[] = [
  {
    what: 'a snapshot',
    in: 'upload-image',
    ask: (test, uuid) => test.cloud.actions.snapshot(test.recorded.context, uuid),
    state: 'active/-',
  },
  {
    what: 'a rebuild',
    in: 'create-disks',
    ask: (test, uuid) => test.cloud.rebuilds.rebuild({}, uuid),
    state: 'error/-',
  },
  { what: 'a live migration', in: 'switch-over', ask: migrate, state: 'active/-' },
  { what: 'a resize', in: 'copy-disks', ask: resize, state: 'active/-' },
];

/** The fault that the records have of an instance. */
async function faultIn(
  { cloud }: TestCloud,
  uuid: string,
): Promise<Readonly<Record<string, unknown>> | null> {
  return plainInstance(await cloud.records.instances.get(uuid))['fault'] as Readonly<
    Record<string, unknown>
  > | null; // as plainInstance makes it
}

async function settled(test: TestCloud, uuid: string, state: string): Promise<void> {
  await test.becomes(uuid, state);
  await allIdle(test);
  for (const conductor of test.cloud.conductors) await conductor.registry.whenIdle();
}

describe('the fault of an instance', () => {
  for (const { what, options = {}, before, fails, ask, state, host } of ROWS) {
    it(`tells of ${what} (compute-rpc 3)`, () =>
      withCloud(options, async (test) => {
        const uuid = await (before?.(test) ?? test.bootActive());
        if (fails) test.virt(fails[0]).steps.failNext(fails[1]);
        test.states.length = 0;
        const failed = test.watch.instance(uuid, (one) => Boolean(one.find('fault')));
        await ask(test, uuid);
        await failed;
        await settled(test, uuid, state);
        const fault = await faultIn(test, uuid);
        expect(fault).to.deep.include({ code: 500, host });
        expect(fault?.['message']).to.be.a('string').and.not.match(/\n|^$/);
        expect(fault?.['details']).to.be.a('string').and.not.contain(' at ');
        expect(fault?.['created_at']).to.be.an.instanceOf(Date);
      }));
  }

  for (const { what, in: step, ask, state } of CUT_OFF) {
    it(`tells of ${what} that the end of a process has cut off, at the next start (COMP-07)`, () =>
      withCloud({ rpcTimeoutMs: 300 }, async (test) => {
        const uuid = await test.bootActive();
        const held = test.virt(SOURCE).steps.hold(step);
        await ask(test, uuid);
        await held.reached;
        await kill(test, SOURCE);
        held.release();
        const told = test.watch.instance(uuid, (one) => Boolean(one.find('fault')));
        await test.cloud.host(SOURCE).start();
        await told;
        await settled(test, uuid, state);
        const fault = await faultIn(test, uuid);
        expect(fault).to.deep.include({ code: 500, host: SOURCE });
        expect(fault?.['message'])
          .to.be.a('string')
          .and.match(/cut off|ended/);
      }));
  }

  it('tells of a boot that could not be handed to a host (compute-rpc 3.7)', () =>
    withCloud({ onSend: failing('build_and_run_instance') }, async (test) => {
      const uuid = await test.boot();
      await settled(test, uuid, 'error/-');
      expect(await faultIn(test, uuid)).to.deep.include({ code: 500, host: null });
    }));

  it('goes when a later operation succeeds; a newer one takes the place of an older one', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const { actions, controls } = test.cloud;
      test.virt(SOURCE).steps.failNext('suspend', new MessagingError('the first', { code: 'ERR_TEST' }));
      await controls.ask({}, uuid, 'suspend');
      await settled(test, uuid, 'error/-');
      expect(await faultIn(test, uuid)).to.include({ message: 'the first' });
      test.virt(SOURCE).steps.failNext('reboot-hard', new MessagingError('the second', { code: 'ERR_TEST' }));
      const second = test.watch.instance(uuid, (one) => one.find('fault')?.find('message') === 'the second');
      await actions.reboot(test.recorded.context, uuid, 'hard');
      await second;
      await allIdle(test);
      await actions.reboot(test.recorded.context, uuid, 'hard');
      await settled(test, uuid, 'active/-');
      expect(await faultIn(test, uuid)).to.equal(null);
    }));

  it('of a destination in another cell is that of the instance in its old one (compute-rpc 3.5)', () =>
    withTwoCells({ recheckMs: 600_000 }, async (cells) => {
      const uuid = await cells.first.bootActive(SOURCE);
      cells.second.virt(DEST).steps.failNext('start-guest');
      await cells.resize(uuid);
      await cells.first.migrationBecomes(uuid, 'error');
      await cells.settled();
      expect(await cells.first.stateOf(uuid)).to.match(/^error\/-/);
      expect(await faultIn(cells.first, uuid)).to.include({ host: DEST });
    }));

  it('has no stack, and nothing of what a peer or a library says', () => {
    const peer = new RemoteError({ remoteType: 'DBError', remoteMessage: 'password=hunter2' });
    const library = new Error('token hunter2', { cause: new TypeError('hunter2') });
    for (const [error, message, details] of [
      [peer, 'DBError', 'DBError (ERR_REMOTE)'],
      [library, 'Error', 'Error, caused by TypeError'],
      ['hunter2', 'Error', 'Error'],
    ] as const) {
      const fault = faultOf(error, 'a');
      expect([fault.get('message'), fault.get('details')]).to.deep.equal([message, details]);
    }
    const own = new MessagingError(`no\n\u001B[31mroom ${'x'.repeat(300)}`, { code: 'ERR_TEST' });
    expect(faultOf(own, null).get('message'))
      .to.match(/^no \[31mroom x+$/)
      .and.have.length(255);
  });

  it('is one short line in lists, of instances in ERROR only', () => {
    const fault = faultOf(new MessagingError(`no room ${'x'.repeat(100)}`, { code: 'ERR_TEST' }), SOURCE);
    const fields = { host: SOURCE, task_state: null, fault } as const;
    const instances = (['error', 'active'] as const).map((state) =>
      Instance.create({ uuid: state, display_name: state, vm_state: state, ...fields }),
    );
    const lines = instanceLines({ hosts: [], instances, moves: new Map() });
    expect(lines[1]).to.match(/no room x{71}…$/);
    expect(lines[2]).to.not.contain('no room');
  });
});

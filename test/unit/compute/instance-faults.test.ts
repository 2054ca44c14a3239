/** Why an operation failed is kept with the instance (`compute-rpc.md` 3), and shown to operators. */
import { MessagingError } from '@ebbgate/core';
import { RemoteError } from '@ebbgate/rpc';
import { Instance, type VirtStep } from '@ebbgate/compute';
import { faultOf } from '#compute/objects/instance-fault.js';
import { instanceLines } from '#compute/operator/instance-rows.js';
import { plainInstance } from '#compute/operator/plain-objects.js';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { allIdle, BIGGER, failing } from './resize-words.js';
import { DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';
import { withTwoCells } from './two-cells.js';

type Options = Parameters<typeof withCloud>[0];

interface Row {
  readonly what: string;
  readonly options?: Options;
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
  for (const { what, options = {}, fails, ask, state, host } of ROWS) {
    it(`tells of ${what} (compute-rpc 3)`, () =>
      withCloud(options, async (test) => {
        const uuid = await test.bootActive();
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

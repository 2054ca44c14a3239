/**
 * The failures that no hypervisor is to blame for: a conductor or a host cannot be told, a scheduler does not answer, the
 * network service refuses. All failures and roll-backs of `compute-rpc.md` 3 and their tests:
 *
 * | flow            | fails at                                          | test                                               |
 * | --------------- | ------------------------------------------------- | -------------------------------------------------- |
 * | live migration  | conductor, source, destination, records           | live-migration-failures                            |
 * | (3.1)           | abort and force-complete in each status           | live-migration-shorten                             |
 * |                 | scheduler away                                    | scheduler-away                                     |
 * |                 | a host is cut off, a delete comes                 | live-migration-ends, recover-moves, terminate      |
 * | cold, resize    | prepare, source, destination, delete              | resize, resize-failures                            |
 * | (3.2)           | conductor, scheduler away, event                  | here                                               |
 * | confirm (3.3)   | source, request                                   | confirm-revert                                     |
 * | revert (3.4)    | destination, source, shared storage, hand-over    | confirm-revert                                     |
 * |                 | request, event                                    | here                                               |
 * | cross-cell      | each step of both cells, mapping, confirm, revert | cross-cell-failures                                |
 * | (3.5)           | event, confirm or revert cannot be sent           | here                                               |
 * | rebuild (3.6)   | hypervisor, conductor, delete                     | rebuild                                            |
 * |                 | host cannot be told, event                        | here                                               |
 * | evacuate (3.6)  | no host, hypervisor, claim, delete, cut off       | evacuate, evacuated-guests                         |
 * |                 | host cannot be told, scheduler away, event        | here                                               |
 * | boot (3.7)      | hypervisor, next hosts, no host, delete           | boot, build-again, terminate                       |
 * |                 | scheduler away                                    | scheduler-away                                     |
 * |                 | host cannot be told, event                        | here                                               |
 * | events, console | host cannot be told, no guest, drain              | requests-not-sent, snapshot-and-console            |
 * | (3.8)           | unknown instance, host down, wrong port, late     | here                                               |
 */
import { ExternalEvents } from '#compute/api/external-events.js';
import { InstanceExternalEvent } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { bereft } from './evacuation-words.js';
import { failToPlug } from './network-words.js';
import {
  allIdle,
  BIGGER,
  bootResized,
  failing,
  type Outcome,
  outcomeOf,
  resized,
  untouched,
} from './resize-words.js';
import { codeOf, DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';
import { asBefore, MOVED, withTwoCells } from './two-cells.js';

/** So long that no test sees it happen: what ends, ends because it was told. */
const NO_RECHECK = { recheckMs: 600_000 } as const;
/** Conductors ask schedulers, of whom none is there when {@link endSchedulers} has resolved. */
const ONE_SCHEDULER = { ...NO_RECHECK, schedulers: 1, rpcTimeoutMs: 100 } as const;

async function endSchedulers({ cloud }: TestCloud): Promise<void> {
  for (const scheduler of cloud.schedulers) await scheduler.drain('SIGTERM');
}

/** What is left when the instance is in that state and nothing runs any more. */
async function leftIn(test: TestCloud, uuid: string, state: string): Promise<Outcome> {
  await test.becomes(uuid, state);
  await allIdle(test);
  for (const conductor of test.cloud.conductors) await conductor.registry.whenIdle();
  return outcomeOf(test, uuid);
}

const NOWHERE: Outcome = {
  ...untouched(SOURCE, '-'),
  state: 'error/-',
  host: null,
  guests: [],
  boundTo: null,
  allocations: [],
};

describe('a boot (compute-rpc 3.7)', () => {
  it('whose host cannot be told is in ERROR, with nothing claimed', () =>
    withCloud({ ...NO_RECHECK, onSend: failing('build_and_run_instance') }, async (test) => {
      expect(await leftIn(test, await test.boot(), 'error/-')).to.deep.equal(NOWHERE);
    }));

  it('whose interfaces are not plugged is in ERROR, with no guest and nothing claimed', () =>
    withCloud(NO_RECHECK, async (test) => {
      failToPlug(test);
      const { guests, allocations } = await leftIn(test, await test.boot(), 'error/-');
      expect({ guests, allocations }).to.deep.equal({ guests: [], allocations: [] });
    }));
});

describe('a cold migration (compute-rpc 3.2)', () => {
  it('whose destination cannot be told is as before', () =>
    withCloud({ ...NO_RECHECK, onSend: failing('prep_resize') }, async (test) => {
      const uuid = await test.bootActive();
      await test.cloud.moves.migrate(test.recorded.context, uuid, DEST);
      expect(await leftIn(test, uuid, 'active/-')).to.deep.equal(untouched(SOURCE, 'error'));
    }));

  it('is as before when no scheduler answers', () =>
    withCloud(ONE_SCHEDULER, async (test) => {
      const uuid = await test.bootActive();
      await endSchedulers(test);
      await test.cloud.moves.migrate(test.recorded.context, uuid, null);
      expect(await leftIn(test, uuid, 'active/-')).to.deep.equal(untouched(SOURCE, 'error'));
    }));

  it('whose interfaces are not plugged is in ERROR at its destination', () =>
    withCloud(NO_RECHECK, async (test) => {
      const uuid = await test.bootActive();
      failToPlug(test);
      await test.cloud.moves.resize(test.recorded.context, uuid, BIGGER);
      expect(await leftIn(test, uuid, 'error/-')).to.deep.equal({
        ...resized(SOURCE, DEST),
        state: 'error/-',
        status: 'error',
        guests: [`${DEST}:shutdown`],
        allocations: [`instance@${DEST}:1024`],
        size: 512,
      });
    }));
});

describe('a revert (compute-rpc 3.4)', () => {
  it('that cannot be sent leaves the instance resized', () =>
    withCloud({ ...NO_RECHECK, onSend: failing('revert_resize') }, async (test) => {
      const uuid = await bootResized(test);
      await test.cloud.moves.revertResize(test.recorded.context, uuid).then(
        () => expect.fail('it cannot be sent'),
        () => undefined,
      );
      expect(await leftIn(test, uuid, 'resized/-')).to.deep.equal(resized(SOURCE, DEST));
    }));

  it('whose interfaces are not plugged is in ERROR at the source', () =>
    withCloud(NO_RECHECK, async (test) => {
      const uuid = await bootResized(test);
      failToPlug(test);
      await test.cloud.moves.revertResize(test.recorded.context, uuid);
      const left = await leftIn(test, uuid, 'error/-');
      expect(left).to.deep.equal({
        ...untouched(SOURCE, 'error'),
        state: 'error/-',
        guests: [`${SOURCE}:shutdown`],
      });
    }));
});

describe('a resize to another cell (compute-rpc 3.5)', () => {
  it('whose interfaces are not plugged is taken back: its disks are kept at the source', () =>
    withTwoCells(NO_RECHECK, async (cells) => {
      failToPlug(cells.second);
      const uuid = await cells.first.bootActive(SOURCE);
      await cells.resize(uuid);
      await cells.first.becomes(uuid, 'error/-');
      await cells.settled();
      expect(await cells.outcome(uuid)).to.deep.equal({
        ...asBefore({ migration: ['error', 'error hidden deleted'] }),
        instance: [`error/-@${SOURCE}`, `deleted/-@${DEST} hidden deleted`],
        guests: [],
        kept: [SOURCE],
      });
    }));

  it('whose source cannot be told of the confirmation is in ERROR where it is', () =>
    withTwoCells(
      { ...NO_RECHECK, onSend: failing('confirm_snapshot_based_resize_at_source') },
      async (cells) => {
        const uuid = await cells.bootMoved();
        await cells.confirm(uuid);
        await cells.second.becomes(uuid, 'error/-');
        await cells.settled();
        expect(await cells.outcome(uuid)).to.deep.equal({
          ...MOVED,
          instance: [MOVED.instance[0], `error/-@${DEST}`],
          migration: ['confirming hidden', 'error'],
          allocations: [`instance@${DEST}:1024`],
        });
      },
    ));

  for (const method of [
    'revert_snapshot_based_resize_at_dest',
    'finish_revert_snapshot_based_resize_at_source',
  ]) {
    it(`is in ERROR at its source, with its disks, when ${method} cannot be sent`, () =>
      withTwoCells({ ...NO_RECHECK, onSend: failing(method) }, async (cells) => {
        const uuid = await cells.bootMoved();
        await cells.revert(uuid);
        await cells.first.becomes(uuid, 'error/-');
        await cells.settled();
        const { instance, kept, guests, cell, allocations } = await cells.outcome(uuid);
        expect(instance[0]).to.equal(`error/-@${SOURCE}`);
        expect({ kept, guests }).to.deep.equal({ kept: [SOURCE], guests: [] });
        expect([cell, allocations]).to.deep.equal([asBefore().cell, [`instance@${SOURCE}:512`]]);
        await cells.first.cloud.actions.reboot(cells.first.recorded.context, uuid, 'hard');
        await cells.first.becomes(uuid, 'active/-');
      }));
  }
});

describe('a rebuild (compute-rpc 3.6)', () => {
  it('whose host cannot be told is in ERROR, and its guest runs', () =>
    withCloud({ ...NO_RECHECK, onSend: failing('rebuild_instance') }, async (test) => {
      const uuid = await test.bootActive();
      await test.cloud.rebuilds.rebuild({}, uuid);
      expect(await leftIn(test, uuid, 'error/-')).to.deep.equal({
        ...untouched(SOURCE, '-'),
        state: 'error/-',
      });
    }));

  it('whose interfaces are not plugged is in ERROR on its host, without a guest', () =>
    withCloud(NO_RECHECK, async (test) => {
      const uuid = await test.bootActive();
      failToPlug(test);
      await test.cloud.rebuilds.rebuild({}, uuid);
      const left = await leftIn(test, uuid, 'error/-');
      expect(left).to.deep.equal({ ...untouched(SOURCE, '-'), state: 'error/-', guests: [] });
    }));
});

describe('an evacuation (compute-rpc 3.6)', () => {
  const asked = async (test: TestCloud): Promise<string> => {
    const uuid = await bereft(test);
    await test.cloud.rebuilds.evacuate({}, uuid);
    return uuid;
  };
  const failed = (status: string): Outcome => ({ ...untouched(SOURCE, status), state: 'error/-' });

  it('whose new host cannot be told leaves the instance in ERROR where it was, and nothing claimed', () =>
    withCloud({ ...NO_RECHECK, onSend: failing('rebuild_instance') }, async (test) => {
      expect(await leftIn(test, await asked(test), 'error/-')).to.deep.equal(failed('error'));
    }));

  it('leaves the instance in ERROR where it was when no scheduler answers', () =>
    withCloud(ONE_SCHEDULER, async (test) => {
      const uuid = await bereft(test);
      await endSchedulers(test);
      await test.cloud.rebuilds.evacuate({}, uuid);
      expect(await leftIn(test, uuid, 'error/-')).to.deep.equal(failed('error'));
    }));

  it('whose interfaces are not plugged leaves nothing at the new host', () =>
    withCloud(NO_RECHECK, async (test) => {
      const uuid = await bereft(test);
      failToPlug(test);
      await test.cloud.rebuilds.evacuate({}, uuid);
      expect(await leftIn(test, uuid, 'error/-')).to.deep.equal(failed('failed'));
    }));
});

describe('external events and consoles (compute-rpc 3.8)', () => {
  const plugged = (uuid: string): InstanceExternalEvent =>
    InstanceExternalEvent.create({
      instance_uuid: uuid,
      name: 'network-vif-plugged',
      status: 'completed',
      tag: 'p',
    });

  it('are refused for an instance that is not known', () =>
    withCloud(NO_RECHECK, async ({ cloud }) => {
      const events = new ExternalEvents(cloud.records, cloud.computeApi);
      const nobody = '00000000-0000-4000-8000-000000000000';
      expect(await codeOf(events.send({}, plugged(nobody)))).to.equal('ERR_NOT_FOUND');
      const console = { port: '5900', type: 'novnc' };
      expect(await codeOf(cloud.actions.validateConsole({}, nobody, console))).to.equal('ERR_NOT_FOUND');
    }));

  it('change nothing when nobody waits for them any more', () =>
    withCloud(NO_RECHECK, async (test) => {
      const uuid = await test.bootActive();
      const before = await outcomeOf(test, uuid);
      const { records, computeApi } = test.cloud;
      await new ExternalEvents(records, computeApi).send({}, plugged(uuid));
      await computeApi.call({}, 'check_instance_shared_storage', SOURCE, { data: {} }); // comes after it
      await allIdle(test);
      expect(await outcomeOf(test, uuid)).to.deep.equal(before);
      expect(test.cloud.host(SOURCE).process.service.registry.counts.failed).to.equal(0);
    }));

  it('let nobody into a console at a port that is not its own, nor when its guest is gone', () =>
    withCloud(NO_RECHECK, async (test) => {
      const uuid = await test.bootActive();
      const { actions } = test.cloud;
      const at = (port: string): Promise<boolean> =>
        actions.validateConsole({}, uuid, { port, type: 'novnc' });
      expect([await at('5900'), await at('5901')]).to.deep.equal([true, false]);
      test.virt(SOURCE).machine.remove(uuid);
      expect(await at('5900')).to.equal(false);
    }));

  it('fail at once for a console on a host that is down', () =>
    withCloud(NO_RECHECK, async (test) => {
      const uuid = await bereft(test);
      const asked = test.cloud.actions.validateConsole({}, uuid, { port: '5900', type: 'novnc' });
      expect(await codeOf(asked)).to.equal('ERR_HOST_DOWN');
    }));
});

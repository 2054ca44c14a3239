import type { ServerState } from '@ebbgate/core';
import { type AllocationRepository, FencedError, Liveness, type Records } from '@ebbgate/compute';
import { guardRecords } from '#compute/db/guarded-records.js';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { until } from '../../support/deferred.js';
import { bereft } from './evacuation-words.js';
import { codeOf, DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

/** Hosts learn within this time what was said of them, without being told to look. */
const SOON = { host: { reportIntervalMs: 10 } };

/** Both servers of the present run, new-request and ops. */
function servers(test: TestCloud): readonly (ServerState | undefined)[] {
  const { newRequestServer, opsServer } = test.cloud.host(SOURCE).process;
  return [newRequestServer.state, opsServer?.state];
}

function forceDown(test: TestCloud): Promise<unknown> {
  return test.cloud.records.services.update('compute', SOURCE, { forcedDown: true });
}

/** The records, with something that is done before a host tells of its capacity. */
function withReport(records: Records, before: () => Promise<void>): Records {
  const report: AllocationRepository['report'] = async (host, total) => {
    await before();
    await records.allocations.report(host, total);
  };
  const guarded = guardRecords(records, new AbortController().signal);
  return { ...guarded, allocations: { ...guarded.allocations, report } };
}

async function epochOf(test: TestCloud): Promise<number> {
  return (await test.cloud.records.services.get('compute', SOURCE)).epoch;
}

describe('a host that is forced down when it starts', () => {
  it('removes what was evacuated, opens neither server, and opens both without a restart when it is called up again (FD-10, FD-11, FD-37, COMP-14)', () =>
    withCloud(SOON, async (test) => {
      const uuid = await bereft(test);
      const { services } = test.cloud.records;
      await test.cloud.rebuilds.evacuate({}, uuid);
      await test.migrationBecomes(uuid, 'done');
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([SOURCE, DEST]);
      const host = test.cloud.host(SOURCE);
      await host.start();
      const { service } = host.process;
      expect(test.statuses.at(-1)).to.equal('completed');
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([DEST]);
      expect(servers(test)).to.deep.equal(['idle', 'idle']);
      expect(service.health().ready).to.equal(false);
      expect(service.snapshot()).to.include({ state: 'starting', reason: 'forced down' });
      const before = test.reports(SOURCE);
      await until(() => test.reports(SOURCE) > before + 1); // it goes on telling of itself
      const fenced = await services.get('compute', SOURCE);
      expect(fenced).to.include({ state: 'starting', forcedDown: true });
      expect(new Liveness().isUp(fenced)).to.equal(false);
      await services.update('compute', SOURCE, { forcedDown: false });
      await service.start();
      expect(servers(test)).to.deep.equal(['listening', 'listening']);
      expect([service.state, host.runs]).to.deep.equal(['running', 2]);
      expect(new Liveness().isUp(await services.get('compute', SOURCE))).to.equal(true);
    }));

  it('looks whether it is called up again, and does not wait until it reports again (FD-11, FD-12)', () =>
    withCloud({ host: { reportIntervalMs: 60_000 } }, async (test) => {
      await test.crash(SOURCE);
      const host = test.cloud.host(SOURCE);
      await host.start();
      await test.cloud.records.services.update('compute', SOURCE, { forcedDown: false });
      await host.process.service.start();
      expect(servers(test)).to.deep.equal(['listening', 'listening']);
    }));

  it('leaves alone what is not done, and what it was cut off in, until it is called up again (COMP-14, decision 32)', () =>
    withCloud(SOON, async (test) => {
      const uuid = await test.bootActive();
      const held = test.virt(SOURCE).steps.hold('power-off');
      await test.cloud.actions.stop({}, uuid);
      await held.reached;
      await test.crash(SOURCE);
      held.release();
      await test.cloud.host(SOURCE).start();
      expect(await test.stateOf(uuid)).to.equal(`active/powering-off@${SOURCE}`);
      await test.callUp(SOURCE);
      await test.becomes(uuid, 'stopped/-');
    }));

  it('does not do what was sent to it before, when its instance has another host by then (decision 32)', () =>
    withCloud(SOON, async (test) => {
      const uuid = await test.bootActive();
      const { computeApi, records } = test.cloud;
      const instance = await records.instances.get(uuid);
      await test.crash(SOURCE);
      await computeApi.cast({}, 'stop_instance', SOURCE, { instance, clean_shutdown: false });
      await test.cloud.rebuilds.evacuate({}, uuid);
      await test.migrationBecomes(uuid, 'done');
      await records.instances.update(uuid, { task_state: 'powering-off' }); // as if the API had asked again
      await test.revive(SOURCE);
      await until(() => test.arrived.includes(`stop_instance @ compute.${SOURCE}`));
      await test.idle(SOURCE);
      expect(await test.stateOf(uuid)).to.equal(`active/powering-off@${DEST}`);
      expect(await test.virt(DEST).guestState(uuid)).to.equal('running');
    }));

  it('ends with 0 at SIGTERM, at once (FD-33)', () =>
    withCloud(SOON, async (test) => {
      await test.crash(SOURCE);
      await test.cloud.host(SOURCE).start();
      const { code, report } = await test.cloud.host(SOURCE).terminate();
      expect([code, report.outcome]).to.deep.equal([0, 'clean']);
      expect((await test.cloud.records.services.get('compute', SOURCE)).state).to.equal('exited');
    }));

  it('does not start when it is told so, with an exit code of its own (FD-11)', () =>
    withCloud({ host: { ...SOON.host, forcedDownStart: 'refuse' } }, async (test) => {
      await test.crash(SOURCE);
      const host = test.cloud.host(SOURCE);
      const codes: number[] = [];
      host.events.on('exited', ({ code }) => codes.push(code));
      expect(await codeOf(host.start())).to.equal('ERR_FENCED');
      await until(() => codes.includes(5));
      await test.cloud.records.services.update('compute', SOURCE, { forcedDown: false });
      await host.start();
      expect(servers(test)).to.deep.equal(['listening', 'listening']);
    }));
});

describe('a host that is forced down while it serves', () => {
  it('learns it by its next report, stops both servers, and leaves its work as it is until it is called up again (FD-32, COMP-14)', () =>
    withCloud(SOON, async (test) => {
      const uuid = await test.bootActive();
      const held = test.virt(SOURCE).steps.hold('power-off');
      await test.cloud.actions.stop({}, uuid);
      await held.reached;
      const host = test.cloud.host(SOURCE);
      const first = host.process;
      const cutOff = first.service.exited;
      await forceDown(test);
      const { outcome, unfinished, problems } = await cutOff;
      expect(outcome).to.equal('unfinished');
      expect(unfinished.map(({ name }) => name)).to.deep.equal(['stop_instance']);
      expect(problems).to.deep.equal(['the host was forced down']);
      expect([first.newRequestServer.state, first.opsServer?.state]).to.deep.equal(['drained', 'drained']);
      held.release();
      await until(() => host.runs === 2 && host.process.service.snapshot().reason === 'forced down');
      expect(servers(test)).to.deep.equal(['idle', 'idle']);
      expect(await test.stateOf(uuid)).to.equal(`active/powering-off@${SOURCE}`);
      await test.callUp(SOURCE);
      await test.becomes(uuid, 'stopped/-'); // taken up, as after a crash
      expect(servers(test)).to.deep.equal(['listening', 'listening']);
    }));

  it('never has a second copy of what is evacuated from it running once that is done (FD-37)', () =>
    withCloud(SOON, async (test) => {
      const uuid = await test.bootActive();
      await forceDown(test);
      await until(() => test.cloud.host(SOURCE).runs === 2);
      await test.cloud.rebuilds.evacuate({}, uuid);
      await test.migrationBecomes(uuid, 'completed');
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([DEST]);
      expect(await test.virt(DEST).guestState(uuid)).to.equal('running');
    }));

  it('fences itself too when it was called up again before it looked (decision 31)', () =>
    withCloud(SOON, async (test) => {
      const host = test.cloud.host(SOURCE);
      const { exited } = host.process.service;
      const { services } = test.cloud.records;
      const before = await epochOf(test);
      await Promise.all(
        [true, false].map((forcedDown) => services.update('compute', SOURCE, { forcedDown })),
      );
      expect((await exited).problems).to.deep.equal(['the host was forced down']);
      await until(() => host.runs === 2 && host.process.service.state === 'running');
      expect(await epochOf(test)).to.equal(before + 1);
    }));

  it('fences itself too when even its capacity is refused, of which it tells before it reports for the first time (FD-32, decision 31)', () => {
    let strike: (() => Promise<void>) | undefined;
    const recordsOf = (host: string, records: Records): Records =>
      host === SOURCE ? withReport(records, () => strike?.() ?? Promise.resolve()) : records;
    return withCloud({ ...SOON, recordsOf }, async (test) => {
      const host = test.cloud.host(SOURCE);
      const { services } = test.cloud.records;
      await host.terminate();
      strike = async () => {
        if (host.runs > 2) return;
        if ((await epochOf(test)) === before)
          for (const forcedDown of [true, false]) await services.update('compute', SOURCE, { forcedDown });
        throw new FencedError('It was forced down: what it sends is refused');
      };
      const before = await epochOf(test);
      await host.start();
      expect([host.process.service.state, host.runs]).to.deep.equal(['running', 3]);
      expect(servers(test)).to.deep.equal(['listening', 'listening']);
      expect(new Liveness().isUp(await services.get('compute', SOURCE))).to.equal(true);
    });
  });

  it('ends its drain, and leaves its work, with 3 (FD-33)', () =>
    withCloud(SOON, async (test) => {
      const uuid = await test.bootActive();
      const held = test.virt(SOURCE).steps.hold('power-off');
      await test.cloud.actions.stop({}, uuid);
      await held.reached;
      const { ended, hasEnded } = await test.terminate(SOURCE);
      expect(hasEnded()).to.equal(false);
      await forceDown(test);
      const { code, report } = await ended;
      expect([code, report.reason, report.outcome]).to.deep.equal([3, 'SIGTERM', 'unfinished']);
      expect(report.unfinished.map(({ name }) => name)).to.deep.equal(['stop_instance']);
      held.release();
      expect(test.cloud.host(SOURCE).runs).to.equal(1);
      expect(await test.stateOf(uuid)).to.equal(`active/powering-off@${SOURCE}`);
    }));

  it('ends with 0 when SIGTERM comes while it waits after that (FD-33)', () =>
    withCloud(SOON, async (test) => {
      await forceDown(test);
      const host = test.cloud.host(SOURCE);
      await until(() => host.runs === 2 && host.process.service.snapshot().reason === 'forced down');
      expect((await host.terminate()).code).to.equal(0);
      expect(host.runs).to.equal(2);
    }));
});

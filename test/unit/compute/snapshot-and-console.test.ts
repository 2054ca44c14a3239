import { expect } from 'chai';
import { describe, it } from 'mocha';
import { codeOf, DEST, SOURCE, withCloud } from './test-cloud.js';

describe('a snapshot', () => {
  it('goes through its states and leaves an image', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      test.states.length = 0;
      const image = await test.cloud.actions.snapshot({}, uuid);
      await test.becomes(uuid, 'active/-');
      await test.idle(SOURCE);
      expect(test.states).to.deep.equal([
        'active/image_snapshot_pending',
        'active/image_snapshot',
        'active/image_uploading',
        'active/-',
      ]);
      expect([...test.virt(SOURCE).images]).to.deep.equal([image]);
    }));

  for (const step of ['copy-disk', 'upload-image'] as const) {
    it(`that fails (${step}) leaves no image, and the instance as it was`, () =>
      withCloud({}, async (test) => {
        const uuid = await test.bootActive();
        test.virt(SOURCE).steps.failNext(step);
        await test.cloud.actions.snapshot({}, uuid);
        await test.becomes(uuid, 'active/-');
        await test.idle(SOURCE);
        expect([...test.virt(SOURCE).images]).to.deep.equal([]);
        expect(test.cloud.host(SOURCE).process.service.registry.counts.failed).to.equal(1);
      }));
  }
});

describe('the console of an instance', () => {
  it('gives its output, all or the last lines', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const all = await test.cloud.actions.consoleOutput({}, uuid);
      expect(all.split('\n')).to.have.length(3);
      expect(await test.cloud.actions.consoleOutput({}, uuid, 1)).to.equal('is running');
      expect(await test.cloud.actions.consoleOutput({}, uuid, 0)).to.equal('');
    }));

  it('fails for its caller when there is no guest', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      await test.virt(SOURCE).destroy(uuid);
      expect(await codeOf(test.cloud.actions.consoleOutput({}, uuid))).to.equal('ERR_HYPERVISOR');
      const console = { port: '5900', type: 'novnc' };
      expect(await test.cloud.actions.validateConsole({}, uuid, console)).to.equal(false);
    }));

  for (const method of ['get_vnc_console', 'get_spice_console', 'get_serial_console'] as const) {
    it(`is opened at a port which then is the right one (${method})`, () =>
      withCloud({}, async (test) => {
        const uuid = await test.bootActive();
        const instance = await test.cloud.records.instances.get(uuid);
        const args = { instance, console_type: 'novnc' };
        const opened = await test.cloud.computeApi.call({}, method, SOURCE, args);
        expect(opened).to.include({ host: SOURCE, port: '5900' });
        const { actions } = test.cloud;
        expect(await actions.validateConsole({}, uuid, { port: '5900', type: 'novnc' })).to.equal(true);
        expect(await actions.validateConsole({}, uuid, { port: '5901', type: 'novnc' })).to.equal(false);
        expect(await actions.validateConsole({}, uuid, { port: '', type: 'novnc' })).to.equal(false);
      }));
  }

  it('is delivered, when it was asked for before, also by a host that drains (GS-65, GS-31)', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const held = test.virt(SOURCE).steps.hold('power-off');
      const other = await test.bootActive();
      await test.cloud.actions.stop({}, other);
      await held.reached;
      const { ended } = await test.terminate(SOURCE);
      expect(await test.cloud.actions.validateConsole({}, uuid, { port: '5900', type: 'novnc' })).to.equal(
        true,
      );
      expect(test.arrived.at(-1)).to.equal(`validate_console_port @ compute-ops.${SOURCE}`);
      held.release();
      expect((await ended).code).to.equal(0);
      await test.cloud.host(SOURCE).start();
    }));
});

describe('a live migration that an operator shortens', () => {
  it('is completed at once when it is forced (decision 25)', () =>
    withCloud({}, async (test) => {
      const uuid = await test.bootActive();
      const copy = test.virt(SOURCE).steps.hold('copy-memory');
      await test.migrate(uuid);
      await copy.reached; // and never let go on
      await test.cloud.actions.forceCompleteLiveMigration({}, uuid);
      const migration = await test.migrationBecomes(uuid, 'completed');
      expect(migration.get('memory_remaining')).to.equal(0);
      expect(test.cloud.hypervisors.locate(uuid)).to.deep.equal([DEST]);
      expect(test.arrived).to.include(`live_migration_force_complete @ compute-ops.${SOURCE}`);
    }));

  it('can be forced, and aborted, while its hosts drain (B17)', () =>
    withCloud({ maxConcurrentLiveMigrations: 2 }, async (test) => {
      const [forced, abandoned] = [await test.bootActive(), await test.bootActive()];
      for (const uuid of [forced, abandoned]) {
        const copy = test.virt(SOURCE).steps.hold('copy-memory');
        await test.migrate(uuid);
        await copy.reached;
      }
      const drains = [await test.terminate(SOURCE), await test.terminate(DEST)];
      await test.cloud.actions.forceCompleteLiveMigration({}, forced);
      await test.cloud.actions.abortLiveMigration({}, abandoned);
      for (const { ended } of drains) expect((await ended).code).to.equal(0);
      expect(await test.stateOf(forced)).to.equal(`active/-@${DEST}`);
      expect(await test.stateOf(abandoned)).to.equal(`active/-@${SOURCE}`);
      for (const host of [SOURCE, DEST]) await test.cloud.host(host).start();
    }));

  it('is refused when none is under way, and does nothing when it has just ended', () =>
    withCloud({}, async (test) => {
      const { actions } = test.cloud;
      const uuid = await test.bootActive();
      expect(await codeOf(actions.forceCompleteLiveMigration({}, uuid))).to.equal('ERR_UNEXPECTED_STATE');
      expect(await codeOf(actions.abortLiveMigration({}, uuid))).to.equal('ERR_UNEXPECTED_STATE');
      const instance = await test.cloud.records.instances.get(uuid);
      await test.cloud.computeApi.cast({}, 'live_migration_force_complete', SOURCE, { instance });
      const { newRequestServer } = test.cloud.host(SOURCE).process;
      expect(newRequestServer.state).to.equal('listening');
      await test.idle(SOURCE);
      expect(await test.stateOf(uuid)).to.equal(`active/-@${SOURCE}`);
    }));
});

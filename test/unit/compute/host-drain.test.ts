import { ConductorApi, Liveness } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ServerApi } from '#compute/api/server-api.js';
import { HostPart } from '#compute/main/all-in-one-host.js';
import { operatorContext } from '#compute/main/operator-cells.js';
import { doCommand } from '#compute/main/operator-commands.js';
import { turn } from '../../support/deferred.js';
import { DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

const REASON = 'a new kernel';

/** A host of an all-in-one, in a run of its own. */
async function partOf(test: TestCloud, host: string): Promise<HostPart> {
  await test.cloud.host(host).terminate();
  const part = new HostPart(test.cloud.host(host));
  await part.start();
  return part;
}

/** Resolves with the exit code when the host has ended. */
function exitOf(test: TestCloud, host: string): Promise<number> {
  return new Promise((resolve) => {
    test.cloud.host(host).events.on('exited', ({ code }) => resolve(code));
  });
}

describe('compute: a host that is told by RPC to drain', () => {
  it('finishes what it has begun, and ends with the exit code of its drain; the reason is in its report (GS-1)', () =>
    withCloud({ migrationMs: 40 }, async (test) => {
      const vm = await test.bootActive();
      await test.migrate(vm);
      await test.migrationBecomes(vm, 'running');
      const ended = exitOf(test, SOURCE);
      await test.cloud.computeApi.drainHost({}, SOURCE, REASON);
      expect(test.cloud.host(SOURCE).process.service.snapshot()).to.include({
        state: 'draining',
        reason: REASON,
      });
      expect(test.tasks(SOURCE)).to.not.include('drain_host');
      await test.cloud.computeApi.drainHost({}, SOURCE, 'once more'); // its ops server still answers
      expect(await ended).to.equal(0);
      expect(await test.stateOf(vm)).to.equal(`active/-@${DEST}`);
    }));

  it('is told on its new-request topic when it is too old for the other (GS-40)', () =>
    withCloud({ opsServer: false }, async (test) => {
      const ended = exitOf(test, SOURCE);
      await test.apiOn('compute').drainHost({}, SOURCE, REASON);
      expect(await ended).to.equal(0);
      expect(test.arrived).to.include(`drain_host @ compute.${SOURCE}`);
    }));

  it('ends alone in an all-in-one, which goes on; and with it, when that ends', () =>
    withCloud({}, async (test) => {
      const part = await partOf(test, SOURCE);
      let isOver = false;
      void part.ended.then(() => {
        isOver = true;
      });
      const ended = exitOf(test, SOURCE);
      await test.cloud.computeApi.drainHost({}, SOURCE, REASON);
      await ended;
      await turn();
      expect([part.runs, isOver]).to.deep.equal([false, false]);
      part.drain(Infinity);
      expect(await part.ended).to.equal(0);
    }));

  it('is waited for by an all-in-one that ends, also when it is told to drain alone meanwhile', () =>
    withCloud({ migrationMs: 40 }, async (test) => {
      const part = await partOf(test, SOURCE);
      const vm = await test.bootActive();
      await test.migrate(vm);
      await test.migrationBecomes(vm, 'running');
      part.drain(Infinity);
      await test.cloud.computeApi.drainHost({}, SOURCE, REASON);
      void part.drainAlone();
      expect(await part.ended).to.equal(0);
    }));

  it('is told by host drain of an operator, who has only the broker', () =>
    withCloud({}, async (test) => {
      let said = '';
      const say = (text: string): void => void (said += text);
      const terminal = { out: say, err: say, screen: undefined, signal: new AbortController().signal };
      const { records, computeApi, networking } = test.cloud;
      const conductor = new ConductorApi(computeApi.transport);
      const parts = { records, computeApi, networking, conductor, liveness: new Liveness() };
      const apiOf = (): Promise<never> => Promise.reject(new Error('It is asked for no instance'));
      const apiFor = (): Promise<ServerApi> => Promise.resolve(new ServerApi(parts));
      const cloud = { api: parts, apiOf, apiFor, context: operatorContext() };
      const command = (host: string): Promise<number> => doCommand(['host', 'drain', host], cloud, terminal);
      const ended = exitOf(test, SOURCE);
      expect(await command(SOURCE), said).to.equal(0);
      expect(await ended).to.equal(0);
      expect(await command(SOURCE)).to.equal(1);
      expect(said).to.equal(`${SOURCE} drains\nerror: Compute service of ${SOURCE} is down\n`);
    }));
});

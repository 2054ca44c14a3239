import { ConductorApi, Liveness } from '@ebbgate/compute';
import { currentContext, MessagingTimeoutError, silentLogger } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ServerApi } from '#compute/api/server-api.js';
import { HostPart } from '#compute/main/all-in-one-host.js';
import { HostLog } from '#compute/main/host-log.js';
import { operatorContext } from '#compute/main/operator-cells.js';
import { doCommand } from '#compute/main/operator-commands.js';
import { turn } from '../../support/deferred.js';
import { eventually } from '../../support/rigs/deadline.js';
import { DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

const REASON = 'a new kernel';

/** A host of an all-in-one, in a run of its own. */
async function partOf(test: TestCloud, host: string): Promise<HostPart> {
  await test.cloud.host(host).terminate();
  const part = new HostPart(test.cloud.host(host), new HostLog(silentLogger));
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

  it('finishes what it has begun although nobody keeps, or is told, that it drains (GS-87)', () =>
    withCloud({ migrationMs: 40, host: { reportIntervalMs: 10 } }, async (test) => {
      const { services } = test.cloud.records;
      const seen = new Set<string>();
      const report = services.report.bind(services);
      services.report = ({ drain, state, ...rest }) => {
        seen.add(`${state}, ${drain ? 'with a drain' : 'without'}`);
        return report({ ...rest, state: 'running' }); // upstream's records have no more
      };
      const vm = await test.bootActive();
      await test.migrate(vm);
      await test.migrationBecomes(vm, 'running');
      const { code } = await test.cloud.host(SOURCE).terminate();
      expect(code).to.equal(0);
      expect(await test.stateOf(vm)).to.equal(`active/-@${DEST}`);
      expect([...seen]).to.include('draining, with a drain');
    }));

  it('has its own budget, and not what is left of the patience of who has told it (RPC-03)', () =>
    withCloud({ migrationMs: 40, host: { reportIntervalMs: 10 } }, async (test) => {
      const { services } = test.cloud.records;
      const left: number[] = [];
      const report = services.report.bind(services);
      services.report = (said) => {
        if (said.state !== 'running') left.push(currentContext()?.remainingMs ?? Infinity);
        return report(said);
      };
      const vm = await test.bootActive();
      await test.migrate(vm);
      await test.migrationBecomes(vm, 'running');
      const ended = exitOf(test, SOURCE);
      await test.cloud.computeApi.drainHost({}, SOURCE, REASON);
      await ended;
      expect(left).to.not.be.empty;
      expect(left.filter((ms) => ms !== Infinity)).to.deep.equal([]);
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
      const { command, said } = operatorOf(test);
      const ended = exitOf(test, SOURCE);
      expect(await command('host', 'drain', SOURCE), said()).to.equal(0);
      expect(await ended).to.equal(0);
      expect(await command('host', 'drain', SOURCE)).to.equal(1);
      expect(said()).to.equal(`${SOURCE} drains\nerror: Compute service of ${SOURCE} is down\n`);
    }));

  it('is said to have died or to hang when it does not answer, though it has reported not long ago', () =>
    withCloud({}, async (test) => {
      test.cloud.computeApi.drainHost = () => Promise.reject(new MessagingTimeoutError('no reply'));
      const { command, said } = operatorOf(test);
      expect(await command('drain', SOURCE)).to.equal(1);
      expect(said()).to.equal(`error: ${SOURCE} has not answered: its process has died, or hangs\n`);
    }));

  it('is watched to its end: its tasks, their ages, how far each migration is, and the time that is left', () =>
    withCloud({ host: { reportIntervalMs: 10 } }, async (test) => {
      const vm = await test.bootActive();
      const held = test.virt(SOURCE).steps.hold('copy-memory');
      await test.migrate(vm);
      await held.reached;
      const { command, said } = operatorOf(test);
      const [text, json] = [
        command('drain', SOURCE, '--watch'),
        command('drain', SOURCE, '--watch', '--json'),
      ];
      await eventually('the drain is shown', 3000, () => said().includes('live_migration'));
      held.release();
      expect(await Promise.all([text, json]), said()).to.deep.equal([0, 0]);
      const lines = said().split('\n');
      const plain = lines.filter((line) => !line.startsWith('{'));
      expect(plain).to.contain(`${SOURCE} has ended`);
      expect(plain.find((line) => line.includes(' drains ('))).to.match(
        /^compute-a drains \(an operator has asked for it\): [^,]+, \d+ tasks, 2\d s left$/,
      );
      expect(plain.find((line) => line.startsWith('live_migration'))).to.match(
        /^live_migration +vm1 +0 s +compute-a -> compute-b running \[/,
      );
      const [task] = lines.flatMap((line) => tasksIn(line));
      expect(task).to.include({ name: 'live_migration', subject: vm });
    }));

  it('is watched to an end that leaves something: the command names it, and ends with 1 (COMP-04)', () =>
    withCloud({ tasksMs: 1 }, async (test) => {
      const vm = await test.bootActive();
      const held = test.virt(SOURCE).steps.hold('copy-memory');
      await test.migrate(vm);
      await held.reached;
      const { command, said } = operatorOf(test);
      expect(await command('drain', SOURCE, '--watch'), said()).to.equal(1);
      const lines = said().trimEnd().split('\n');
      const [ended, , task, error, ...more] = lines.slice(
        lines.indexOf(`${SOURCE} has ended, and left 1 task`),
      );
      expect([ended, more]).to.deep.equal([`${SOURCE} has ended, and left 1 task`, []]);
      expect(task).to.match(/^live_migration +vm1 +0 s +compute-a -> compute-b running/);
      expect(error).to.equal(`error: What ${SOURCE} has left is seen to by its next start`);
    }));

  it('is not watched as JSON by whoever does not watch it', () =>
    withCloud({}, async (test) => {
      const { command, said } = operatorOf(test);
      expect(await command('drain', SOURCE, '--json')).to.equal(2);
      expect(said()).to.contain('--json is given without --watch');
      expect(test.cloud.host(SOURCE).process.service.state).to.equal('running');
    }));
});

/** Somebody who types commands, and has only the broker. */
function operatorOf(test: TestCloud): {
  readonly command: (...argv: readonly string[]) => Promise<number>;
  readonly said: () => string;
} {
  let said = '';
  const say = (text: string): void => void (said += text);
  const terminal = { out: say, err: say, screen: undefined, signal: new AbortController().signal };
  const { records, computeApi, networking } = test.cloud;
  const conductor = new ConductorApi(computeApi.transport);
  const parts = { records, computeApi, networking, conductor, liveness: new Liveness() };
  const apiOf = (): Promise<never> => Promise.reject(new Error('It is asked for no instance'));
  const apiFor = (): Promise<ServerApi> => Promise.resolve(new ServerApi(parts));
  const cloud = { api: parts, apiOf, apiFor, context: operatorContext() };
  return { command: (...argv) => doCommand(argv, cloud, terminal), said: () => said };
}

function tasksIn(line: string): readonly Readonly<Record<string, unknown>>[] {
  if (!line.startsWith('{')) return [];
  return (JSON.parse(line) as { drain: { tasks: [] } | null }).drain?.tasks ?? [];
}

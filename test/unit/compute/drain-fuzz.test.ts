import type { RequestContext } from '@ebbgate/core';
import type { Instance } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { computeMethods } from '#compute/rpc/methods.js';
import { eventually } from '../../support/rigs/deadline.js';
import { faultSeed, randomNumbers } from '../../support/rigs/random-faults.js';
import { sendStrays } from './drain-fuzz-strays.js';
import { beUser, PATIENCE_MS, type Watching } from './drain-fuzz-users.js';
import { DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

const HOSTS = [SOURCE, DEST];
const USERS = 6;
const WISHES = 10;
const STRAYS = 120;
/** A host runs so long at most before it drains again. */
const RUNS_MS = 60;
/** Two hosts that drain may wait for each other's next start so long: each has a check of the other's in its hands. */
const RPC_MS = 1000;
const CLEAN = JSON.stringify({ code: 0, outcome: 'clean', problems: [], unfinished: [] });

/** What was asked for, and what of it arrived where: each request by its id. */
class Ledger {
  /** Every method that arrived. */
  readonly methods = new Set<string>();
  readonly #asked = new Map<string, string>();
  readonly #arrived = new Map<string, string[]>();

  constructor({ cloud }: TestCloud) {
    for (const host of cloud.hosts.values()) {
      host.events.on('request', ({ requestId = '', topic, method }) => {
        this.methods.add(method);
        const isHandedOn = topic !== 'compute' && computeMethods.get(method)?.starts === true;
        if (isHandedOn && host.process.service.state === 'draining') return; // it arrives once more
        this.#arrived.set(requestId, [...(this.#arrived.get(requestId) ?? []), `${method} @ ${host.name}`]);
      });
    }
  }

  context({ recorded }: TestCloud, what: string): RequestContext {
    const id = `req-${String(this.#asked.size)}`;
    this.#asked.set(id, what);
    return recorded.context.with({ request_id: id });
  }

  /** Requests that have arrived at a host more than once. */
  get twice(): readonly string[] {
    return this.#where((arrived) => new Set(arrived).size < arrived.length);
  }

  /** Casts to a host of which none has come. */
  get lost(): readonly string[] {
    return this.#where((arrived) => arrived.length === 0).filter((what) => what.startsWith('cast '));
  }

  #where(is: (arrived: readonly string[]) => boolean): readonly string[] {
    return [...this.#asked].flatMap(([id, what]) => (is(this.#arrived.get(id) ?? []) ? [what] : []));
  }
}

/** Drains a host at random moments, and starts it again each time, until it is told to end. Resolves with the ends. */
async function drainAgainAndAgain(
  { cloud }: TestCloud,
  host: string,
  random: () => number,
  isOver: () => boolean,
): Promise<readonly string[]> {
  const ends: string[] = [];
  while (!isOver()) {
    await new Promise((resolve) => setTimeout(resolve, random() * RUNS_MS));
    const { code, report } = await cloud.host(host).terminate();
    const { outcome, problems, unfinished } = report;
    ends.push(JSON.stringify({ code, outcome, problems, unfinished }));
    await cloud.host(host).start();
  }
  return ends;
}

/** What is not as it must be when nothing is done to an instance: its guest, and what it has been given. */
async function misplaced(test: TestCloud, instance: Instance): Promise<readonly string[]> {
  const uuid = instance.get('uuid');
  const [vm, task, host] = [instance.get('vm_state'), instance.get('task_state'), instance.find('host')];
  const place = vm === 'shelved_offloaded' ? [] : [String(host)];
  const guests = test.cloud.hypervisors.locate(uuid).join();
  const allocated = (await test.allocatedOn(uuid)).join();
  if (task === null && guests === place.join() && allocated === place.join()) return [];
  return [`${uuid} is ${vm}/${String(task)}@${String(host)}, its guest at ${guests}, allocated ${allocated}`];
}

/** What has not come, or is not in its place, when nothing changes any more. */
async function whatIsLeft(test: TestCloud, ledger: Ledger): Promise<readonly string[]> {
  let left: readonly string[] = [];
  const look = async (): Promise<boolean> => {
    const instances = await test.cloud.records.instances.find({});
    const places = await Promise.all(instances.map((instance) => misplaced(test, instance)));
    left = [...places.flat(), ...ledger.lost.map((what) => `lost: ${what}`)];
    return left.length === 0;
  };
  await eventually('everything is in its place', PATIENCE_MS, look).catch(() => undefined); // told by what is left
  return left;
}

describe('hosts that drain at random moments, while everything is asked of them', () => {
  it('execute each request once, refuse it with a typed error, or leave it to their next start (GS-1, GS-2, GS-6, GS-76, GS-101)', () => {
    const random = randomNumbers(faultSeed());
    return withCloud({ bootMs: 2, migrationMs: 10, rpcTimeoutMs: RPC_MS }, async (test) => {
      const ledger = new Ledger(test);
      const [problems, done]: [string[], Set<string>] = [[], new Set()];
      const watching: Watching = {
        random,
        context: (what) => ledger.context(test, what),
        onDone: (wish) => void done.add(wish),
        onProblem: (text) => void problems.push(text),
      };
      const uuids: string[] = [];
      while (uuids.length < USERS) uuids.push(await test.bootActive(HOSTS[uuids.length % 2]));
      const bystander = await test.cloud.records.instances.get(await test.bootActive(SOURCE));
      let isOver = false;
      const drains = HOSTS.map((host) => drainAgainAndAgain(test, host, random, () => isOver));
      await Promise.all([
        ...uuids.map((uuid) => beUser(test, uuid, WISHES, watching)),
        sendStrays(test, bystander, STRAYS, watching),
      ]);
      isOver = true;
      const ends = (await Promise.all(drains)).flat();

      problems.push(...(await whatIsLeft(test, ledger)));
      problems.push(...ledger.twice.map((what) => `done twice: ${what}`));
      expect(problems, problems.join('\n')).to.deep.equal([]);
      expect(new Set(ends)).to.deep.equal(new Set([CLEAN]));
      expect(ends).to.have.length.above(5);
      expect(await test.stateOf(bystander.get('uuid'))).to.equal(`active/-@${SOURCE}`);
      // All of the table was asked for, and most of what users can ask for was done.
      expect([...computeMethods.keys()].filter((method) => !ledger.methods.has(method))).to.deep.equal([]);
      expect(done.size).to.be.above(11);
    });
  }).timeout(60_000);
});

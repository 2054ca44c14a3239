import { expect } from 'chai';
import { describe, it } from 'mocha';
import { silentLogger } from '@ebbgate/core';
import {
  Destination,
  Flavor,
  InstanceGroup,
  type InstanceGroupFields,
  Liveness,
  LocalScheduler,
  MemoryRecords,
  NoValidHostError,
  RequestSpec,
  type RequestSpecFields,
  type Resources,
  type ServiceReport,
} from '@ebbgate/compute';

const ROOM: Resources = { vcpus: 8, memoryMb: 8192, diskGb: 100 };
const NOW = 1_800_000_000_000;

/** Records with hosts as wanted, and a scheduler whose clock stands still until it is told. */
class Bench {
  readonly records: MemoryRecords;
  readonly scheduler: LocalScheduler;
  nowMs = NOW;
  /** By so much was the clock of the scheduler set. */
  setByMs = 0;

  constructor() {
    this.records = new MemoryRecords((error) => {
      throw error;
    });
    const liveness = new Liveness({ now: () => this.nowMs, steadyNow: () => this.nowMs - this.setByMs });
    this.scheduler = new LocalScheduler({ records: this.records, logger: silentLogger, liveness });
  }

  async host(host: string, report: Partial<ServiceReport> = {}, room: Resources = ROOM): Promise<void> {
    await this.records.allocations.report(host, room);
    await this.records.services.register({
      binary: 'compute',
      host,
      state: 'running',
      reportedAtMs: this.nowMs,
      ...report,
    });
  }

  /** The host chosen for an instance, and those after it. */
  async choose(fields: Partial<RequestSpecFields> = {}, uuid = 'vm', alternates = 0): Promise<string[]> {
    const [list = []] = await this.scheduler.selectDestinations({}, spec(fields), [uuid], { alternates });
    return list.map(({ host }) => host);
  }

  /** The text of the error with which it fails. */
  async refusal(fields: Partial<RequestSpecFields> = {}, uuid = 'vm'): Promise<string> {
    const error: unknown = await this.choose(fields, uuid).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(NoValidHostError);
    return (error as NoValidHostError).message;
  }

  async claimsOf(consumer: string): Promise<string[]> {
    return (await this.records.allocations.find({ consumer })).map(({ host }) => host);
  }
}

function flavor(fields: object = {}): Flavor {
  return Flavor.create({ vcpus: 1, memory_mb: 512, root_gb: 10, ephemeral_gb: 0, swap: 0, ...fields });
}

function spec(fields: Partial<RequestSpecFields>): RequestSpec {
  return RequestSpec.create({ flavor: flavor(), ...fields });
}

function group(policy: InstanceGroupFields['policy'], members: readonly string[]): InstanceGroup {
  return InstanceGroup.create({ uuid: 'g', policy, members });
}

describe('the filters of the scheduler', () => {
  it('leave out hosts that are down by the own clock, and take them back with their next report (COMP-11, FD-9)', async () => {
    const bench = new Bench();
    await bench.host('a');
    bench.nowMs += 60_000;
    expect(await bench.choose()).to.deep.equal(['a']);
    bench.nowMs += 1;
    expect(await bench.refusal({}, 'vm2')).to.contain('1 down');
    await bench.host('a');
    expect(await bench.choose({}, 'vm2')).to.deep.equal(['a']);
  });

  it('date a report by the own clock when the clock of its host is wrong (COMP-11)', async () => {
    const bench = new Bench();
    const wrong = { reportedAtMs: NOW - 3_600_000 };
    await bench.host('a', wrong);
    expect(await bench.refusal()).to.contain('1 down');
    bench.nowMs += 10_000;
    await bench.host('a', wrong);
    expect(await bench.choose()).to.deep.equal(['a']);
    bench.nowMs += 61_000;
    expect(await bench.refusal({}, 'vm2')).to.contain('1 down');
  });

  it('are not misled when the own clock is set, ahead or back, once a report was seen to come (COMP-11, FD-9)', async () => {
    for (const byMs of [3_600_000, -3_600_000]) {
      const bench = new Bench();
      await bench.host('a');
      expect(await bench.choose()).to.deep.equal(['a']);
      bench.nowMs += 10_000;
      await bench.host('a');
      expect(await bench.choose({}, 'vm2')).to.deep.equal(['a']);
      bench.nowMs += byMs;
      bench.setByMs += byMs;
      expect(await bench.choose({}, 'vm3')).to.deep.equal(['a']);
      await bench.host('a', { reportedAtMs: NOW + 20_000 });
      bench.nowMs += 10_000;
      expect(await bench.choose({}, 'vm4')).to.deep.equal(['a']);
      bench.nowMs += 60_001;
      expect(await bench.refusal({}, 'vm5'), 'and does not take it for up for ever').to.contain('1 down');
    }
  });

  it('take a report that came long ago for what its own time says, also when it is new to us', async () => {
    const bench = new Bench();
    await bench.host('a');
    expect(await bench.choose()).to.deep.equal(['a']);
    await bench.host('a', { reportedAtMs: NOW + 1000 });
    bench.nowMs += 3_600_000;
    expect(await bench.refusal({}, 'vm2')).to.contain('1 down');
  });

  it('leave out hosts that are disabled, forced down, draining, ended or only starting (COMP-12, COMP-16, FD-5)', async () => {
    const bench = new Bench();
    await bench.host('disabled');
    await bench.records.services.update('compute', 'disabled', { disabled: true });
    await bench.host('fenced');
    await bench.records.services.update('compute', 'fenced', { forcedDown: true });
    await bench.host('fenced'); // a report does not lift the fence
    await bench.host('draining', { state: 'draining' });
    await bench.host('ended', { state: 'exited' });
    const text = await bench.refusal();
    expect(text).to.equal('No host can take instance vm: 1 disabled, 1 draining, 1 down, 1 forced down');
    expect(await bench.claimsOf('vm')).to.deep.equal([]);
    await bench.records.services.update('compute', 'fenced', { forcedDown: false });
    expect(await bench.choose()).to.deep.equal(['fenced']);
  });

  it('ask for room for the whole flavor: CPUs, memory, and root, ephemeral and swap disk', async () => {
    const bench = new Bench();
    await bench.host('a', {}, { vcpus: 2, memoryMb: 1024, diskGb: 13 });
    const fits = { vcpus: 2, memory_mb: 1024, root_gb: 10, ephemeral_gb: 2, swap: 1 };
    for (const [name, value] of Object.entries({ vcpus: 3, memory_mb: 1025, root_gb: 11, swap: 1025 })) {
      expect(await bench.refusal({ flavor: flavor({ ...fits, [name]: value }) }), name).to.contain(
        '1 without the room',
      );
    }
    expect(await bench.choose({ flavor: flavor({ ...fits, root_gb: 99 }), is_bfv: true })).to.deep.equal([
      'a',
    ]);
    await bench.records.allocations.release('vm');
    expect(await bench.choose({ flavor: flavor(fits) })).to.deep.equal(['a']);
    expect((await bench.records.allocations.find({ consumer: 'vm' }))[0]?.resources).to.deep.equal({
      vcpus: 2,
      memoryMb: 1024,
      diskGb: 13,
    });
  });

  it('leave out a host that has never told its capacity', async () => {
    const bench = new Bench();
    await bench.records.services.register({
      binary: 'compute',
      host: 'a',
      state: 'running',
      reportedAtMs: NOW,
    });
    expect(await bench.refusal()).to.contain('1 without the room');
  });

  it('keep to the zone that is asked for', async () => {
    const bench = new Bench();
    await bench.host('a');
    await bench.host('b', { availabilityZone: 'east' });
    expect(await bench.choose({ availability_zone: 'east' })).to.deep.equal(['b']);
    expect(await bench.choose({ availability_zone: 'nova' }, 'vm3')).to.deep.equal(['a']); // in none
    expect(await bench.refusal({ availability_zone: 'west' }, 'vm2')).to.contain('2 in another zone');
  });

  it('ignore hosts, and keep to those that a user asks for if they pass', async () => {
    const bench = new Bench();
    await bench.host('a');
    await bench.host('b');
    await bench.host('c', { state: 'draining' });
    expect(await bench.choose({ ignore_hosts: ['a'] })).to.deep.equal(['b']);
    const wished = (host: string) => ({ requested_destination: Destination.create({ host }) });
    expect(await bench.choose(wished('b'), 'vm2')).to.deep.equal(['b']);
    expect(await bench.refusal(wished('c'), 'vm3')).to.contain('1 draining');
    const one = spec({});
    const [list = []] = await bench.scheduler.selectDestinations({}, one, ['vm4'], {
      onlyHosts: ['b', 'c'],
      ignoreHosts: ['a'],
    });
    expect(list.map(({ host }) => host)).to.deep.equal(['b']);
  });

  it('let an operator force hosts that are down or drain, in the order given, but none that is fenced, disabled or full (FD-5)', async () => {
    const bench = new Bench();
    await bench.host('a', { state: 'exited' });
    await bench.host('b', { state: 'draining' });
    await bench.host('fenced');
    await bench.records.services.update('compute', 'fenced', { forcedDown: true });
    await bench.host('full', {}, { vcpus: 0, memoryMb: 0, diskGb: 0 });
    expect(await bench.choose({ force_hosts: ['b', 'a'] }, 'vm', 2)).to.deep.equal(['b', 'a']);
    expect(await bench.refusal({ force_hosts: ['fenced'] }, 'vm2')).to.contain('1 forced down');
    expect(await bench.refusal({ force_hosts: ['full'] }, 'vm2')).to.contain('1 full when claimed');
    expect(await bench.refusal({ force_hosts: ['nowhere'] }, 'vm2')).to.contain('there is none');
  });

  it('put instances on the hosts of others, or elsewhere, as hints wish', async () => {
    const bench = new Bench();
    await bench.host('a');
    await bench.host('b');
    await bench.records.allocations.claim('other', 'a', { vcpus: 1, memoryMb: 1, diskGb: 1 });
    expect(await bench.choose({ scheduler_hints: { same_host: ['other'] } })).to.deep.equal(['a']);
    expect(await bench.choose({ scheduler_hints: { different_host: 'other' } }, 'vm2')).to.deep.equal(['b']);
    const both = { scheduler_hints: { same_host: ['other'], different_host: ['vm'] } };
    expect(await bench.refusal(both, 'vm3')).to.contain('2 with the wrong neighbours');
  });

  it('keep the members of a server group together, or apart', async () => {
    const bench = new Bench();
    for (const host of ['a', 'b', 'c']) await bench.host(host);
    const members = ['m1', 'm2', 'm3', 'm4'];
    const together = { instance_group: group('affinity', members) };
    const [first] = await bench.choose(together, 'm1');
    expect(await bench.choose(together, 'm2')).to.deep.equal([first]);
    for (const uuid of members) await bench.records.allocations.release(uuid);
    const apart = { instance_group: group('anti-affinity', members) };
    const places = [
      await bench.choose(apart, 'm1'),
      await bench.choose(apart, 'm2'),
      await bench.choose(apart, 'm3'),
    ];
    expect(places.flat()).to.have.members(['a', 'b', 'c']);
    expect(await bench.refusal(apart, 'm4')).to.contain('3 with the wrong neighbours');
  });
});

describe('the weighers of the scheduler', () => {
  it('choose the emptiest host, and name alternates in the order of their room', async () => {
    const bench = new Bench();
    await bench.host('a', {}, { vcpus: 4, memoryMb: 4096, diskGb: 50 });
    await bench.host('b', {}, { vcpus: 8, memoryMb: 8192, diskGb: 100 });
    await bench.host('c', {}, { vcpus: 6, memoryMb: 6144, diskGb: 75 });
    expect(await bench.choose({}, 'vm', 9)).to.deep.equal(['b', 'c', 'a']);
    expect(await bench.choose({}, 'vm2', 1)).to.deep.equal(['b', 'c']);
  });

  it('decide by name between equal hosts, so that the answer is always the same', async () => {
    for (const order of [
      ['a', 'b', 'c'],
      ['c', 'b', 'a'],
    ]) {
      const bench = new Bench();
      for (const host of order) await bench.host(host);
      expect(await bench.choose({}, 'vm', 2)).to.deep.equal(['a', 'b', 'c']);
    }
  });
});

describe('the weigher of server groups', () => {
  it('brings an instance to the members of a group that wishes them together, also where there is less room', async () => {
    const bench = new Bench();
    for (const host of ['a', 'b', 'c']) await bench.host(host);
    await bench.records.allocations.claim('m1', 'b', { vcpus: 2, memoryMb: 2048, diskGb: 20 });
    await bench.records.allocations.claim('m2', 'b', { vcpus: 1, memoryMb: 512, diskGb: 10 });
    await bench.records.allocations.claim('other', 'c', { vcpus: 1, memoryMb: 512, diskGb: 10 });
    const wish = { instance_group: group('soft-affinity', ['m1', 'm2', 'vm']) };
    expect(await bench.choose(wish, 'vm', 2)).to.deep.equal(['b', 'a', 'c']);
  });

  it('keeps it from the members of a group that wishes them apart, and takes the fewest where all have some', async () => {
    const bench = new Bench();
    await bench.host('a');
    await bench.host('b', {}, { vcpus: 4, memoryMb: 4096, diskGb: 50 });
    await bench.records.allocations.claim('m1', 'a', { vcpus: 1, memoryMb: 512, diskGb: 10 });
    const wish = { instance_group: group('soft-anti-affinity', ['m1', 'm2', 'vm', 'vm2']) };
    expect(await bench.choose(wish)).to.deep.equal(['b']);
    await bench.records.allocations.claim('m2', 'b', { vcpus: 1, memoryMb: 512, diskGb: 10 });
    expect(await bench.choose(wish, 'vm2')).to.deep.equal(['a']);
  });
});

describe('the claims of the scheduler', () => {
  it('never oversubscribe a host, however many choose at the same time', async () => {
    const bench = new Bench();
    const room = { vcpus: 4, memoryMb: 4096, diskGb: 1000 };
    for (const host of ['a', 'b', 'c']) await bench.host(host, {}, room);
    const others = [1, 2].map(
      () =>
        new LocalScheduler({
          records: bench.records,
          logger: silentLogger,
          liveness: new Liveness({ now: () => NOW }),
        }),
    );
    const schedulers = [bench.scheduler, ...others];
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, async (_, index) =>
        schedulers[index % 3]?.selectDestinations({}, spec({}), [`vm${String(index)}`]),
      ),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).to.have.length(12);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).to.be.instanceOf(NoValidHostError);
    }
    for (const { used } of await bench.records.allocations.capacities()) expect(used.vcpus).to.equal(4);
  });

  it('go to the next host when the race for the best is lost', async () => {
    const bench = new Bench();
    await bench.host('a', {}, { vcpus: 1, memoryMb: 8192, diskGb: 100 });
    await bench.host('b', {}, { vcpus: 1, memoryMb: 4096, diskGb: 50 });
    const { allocations } = bench.records;
    const claim = allocations.claim.bind(allocations);
    let raced = false;
    allocations.claim = async (consumer, host, resources) => {
      if (!raced) {
        raced = true;
        await claim('faster', 'a', resources);
      }
      return claim(consumer, host, resources);
    };
    expect(await bench.choose({}, 'vm')).to.deep.equal(['b']);
    expect(await bench.claimsOf('vm')).to.deep.equal(['b']);
  });

  it('are all or nothing for several instances of one request', async () => {
    const bench = new Bench();
    await bench.host('a', {}, { vcpus: 2, memoryMb: 8192, diskGb: 100 });
    const error: unknown = await bench.scheduler
      .selectDestinations({}, spec({}), ['vm1', 'vm2', 'vm3'])
      .catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(NoValidHostError);
    expect(await bench.records.allocations.find({})).to.deep.equal([]);
    const lists = await bench.scheduler.selectDestinations({}, spec({}), ['vm1', 'vm2']);
    expect(lists.map((list) => list.map(({ host }) => host))).to.deep.equal([['a'], ['a']]);
  });

  it('keep members of a group apart, and bring them together, when they are chosen for at the same time', async () => {
    for (const policy of ['anti-affinity', 'affinity'] as const) {
      const bench = new Bench();
      for (const host of ['a', 'b', 'c']) await bench.host(host);
      const instance_group = group(policy, ['m1', 'm2']);
      const chosen = await Promise.all(['m1', 'm2'].map((uuid) => bench.choose({ instance_group }, uuid)));
      expect(new Set(chosen.flat()).size, policy).to.equal(policy === 'affinity' ? 1 : 2);
    }
  });
});

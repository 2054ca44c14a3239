import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigurationError, silentLogger } from '@ebbgate/core';
import {
  type FakeOrder,
  FakeVirtDriver,
  HypervisorNetwork,
  Instance,
  LibvirtLiveMigrateData,
  type MigrationProgress,
  StepControl,
} from '@ebbgate/compute';
import { OrdersFile } from '#compute/virt/orders-file.js';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { CapturedLog } from '../../support/captured-log.js';
import { codeOf } from './test-cloud.js';

const MIB = 1024 * 1024;
const GUEST = Instance.create({ uuid: 'u1', display_name: 'vm1', memory_mb: 512 });

interface Copied {
  /** Milliseconds that have passed, as far as the hypervisor knows. */
  readonly tookMs: number;
  readonly last: MigrationProgress | undefined;
  readonly rounds: number;
}

/** Copies a guest with time that passes at once. @param onRound - after each round */
async function copy(
  order: FakeOrder,
  onRound: (virt: FakeVirtDriver, progress: MigrationProgress) => void = () => undefined,
): Promise<Copied> {
  const network = new HypervisorNetwork();
  network.storeOf('a').set('u1', 'running');
  network.storeOf('b').expect('u1');
  let [tookMs, rounds] = [0, 0];
  let last: MigrationProgress | undefined;
  const virt = new FakeVirtDriver('a', {
    network,
    networking: { plug: () => Promise.resolve() } as never, // of which nothing is asked here
    spawnMs: 0,
    migrationMs: 4000,
    orders: { of: () => order },
    pause: async (ms) => {
      tookMs += ms;
    },
  });
  const onProgress = (progress: MigrationProgress): void => {
    rounds += 1;
    last = progress;
    onRound(virt, progress);
  };
  await virt.liveMigrate(GUEST, 'b', LibvirtLiveMigrateData.create({}), { onProgress });
  expect(network.locate('u1')).to.deep.equal(['b']);
  return { tookMs: Math.round(tookMs), last, rounds };
}

describe('copying a guest by order', () => {
  const whole = { total: 512 * MIB, processed: 512 * MIB, remaining: 0 };

  it('takes as long for its memory as is said for all, without an order', async () => {
    expect(await copy({})).to.deep.equal({
      tookMs: 4000,
      rounds: 40,
      last: { memory: whole, disk: { total: 0, processed: 0, remaining: 0 } },
    });
  });

  it('takes as long as memory and bandwidth say, disks before memory', async () => {
    const { tookMs, last } = await copy(
      { copyMib: 1000, diskMib: 3000, bandwidthMibS: 100 },
      (_virt, now) => {
        if (now.memory.processed > 0) expect(now.disk.remaining).to.equal(0);
      },
    );
    expect(tookMs).to.equal(40_000);
    expect(last?.disk).to.deep.equal({ total: 3000 * MIB, processed: 3000 * MIB, remaining: 0 });
    expect(last?.memory).to.deep.equal({ total: 1000 * MIB, processed: 1000 * MIB, remaining: 0 });
  });

  it('takes longer, and copies more, the more is dirtied meanwhile', async () => {
    const half = await copy({ copyMib: 1000, bandwidthMibS: 100, dirtyMibS: 50 });
    const most = await copy({ copyMib: 1000, bandwidthMibS: 100, dirtyMibS: 90 });
    expect(half.tookMs).to.be.within(18_000, 20_000);
    expect(most.tookMs).to.be.within(90_000, 100_000);
    expect(half.last?.memory.processed).to.be.within(1800 * MIB, 2000 * MIB);
    expect(most.last?.memory.remaining).to.equal(0);
  });

  for (const dirtyMibS of [100, 500]) {
    it(`never ends at ${dirtyMibS} MiB/s dirtied and 100 copied, until it is forced; then only the rest is copied`, async () => {
      const { tookMs, rounds, last } = await copy(
        { copyMib: 1000, bandwidthMibS: 100, dirtyMibS },
        (virt, { memory }) => {
          if (memory.processed !== 50 * 1000 * MIB) return;
          expect(memory.remaining).to.equal(1000 * MIB);
          void virt.forceComplete('u1');
        },
      );
      expect(rounds).to.equal(50 * 40 + 40);
      expect(tookMs).to.equal(510_000);
      expect(last?.memory).to.deep.equal({ total: 1000 * MIB, processed: 51_000 * MIB, remaining: 0 });
    });
  }
});

describe('orders for one guest', () => {
  it("fail and hold its steps, and no other guest's", async () => {
    const steps = new StepControl();
    steps.failNext('start-guest', new Error('ordered'), 'u1');
    const hold = steps.hold('power-on', 'u1');
    const [one, other] = [{ guest: { uuid: 'u1' } }, { guest: { uuid: 'u2' } }];
    await steps.take('start-guest', 0, other);
    await steps.take('power-on', 0, other);
    const held = steps.take('power-on', 0, one);
    await hold.reached;
    hold.release();
    await held;
    const failure = await steps.take('start-guest', 0, one).catch((error: unknown) => String(error));
    expect(failure).to.equal('Error: ordered');
    await steps.take('start-guest', 0, one); // used once
  });

  it('fail, stall and prolong its steps for as long as they stand', async () => {
    const order = new Map<string, FakeOrder>();
    const pauses: number[] = [];
    const steps = new StepControl(
      async (ms) => {
        pauses.push(ms);
        if (pauses.length === 3) order.delete('u1');
      },
      { of: ({ uuid }) => order.get(uuid) ?? {} },
    );
    const its = { guest: { uuid: 'u1' } };
    order.set('u1', { failAt: new Set(['destroy']), durationsMs: new Map([['power-on', 7]]) });
    for (let time = 0; time < 2; time += 1)
      expect(await codeOf(steps.take('destroy', 0, its))).to.equal('ERR_HYPERVISOR');
    await steps.take('destroy', 0, { guest: { uuid: 'u2' } });
    await steps.take('power-on', 5, its);
    expect(pauses).to.deep.equal([7]);
    order.set('u1', { stallAt: new Set(['destroy']) });
    await steps.take('destroy', 5, its);
    expect(pauses).to.deep.equal([7, 200, 200, 5]);
  });

  it('let a stalled step be ended', async () => {
    const steps = new StepControl(undefined, { of: () => ({ stallAt: new Set(['start-guest']) }) });
    const abort = new AbortController();
    const stalled = codeOf(steps.take('start-guest', 0, { guest: { uuid: 'u1' }, signal: abort.signal }));
    abort.abort();
    expect(await stalled).to.equal('ERR_ABORTED');
  });
});

describe('orders in a file', () => {
  async function withFile(
    text: string,
    work: (path: string, write: (text: string) => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'ebbgate-orders-'));
    const path = join(folder, 'orders.json');
    const write = async (now: string): Promise<void> => {
      await writeFile(`${path}.new`, now);
      await rename(`${path}.new`, path);
    };
    try {
      await write(text);
      await work(path, write);
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  it('are by uuid, else by name, else for all', () =>
    withFile(
      JSON.stringify({
        u1: { copy_mib: 1 },
        vm1: { copy_mib: 2 },
        '*': {
          disk_mib: 3,
          seconds: { 'create-disks': 1.5 },
          fail_at: ['destroy'],
          stall_at: ['switch-over'],
        },
      }),
      async (path) => {
        const orders = new OrdersFile(path, silentLogger);
        expect(orders.of({ uuid: 'u1', name: 'vm1' }).copyMib).to.equal(1);
        expect(orders.of({ uuid: 'u2', name: 'vm1' }).copyMib).to.equal(2);
        const all = orders.of({ uuid: '__proto__' });
        expect(all).to.deep.include({
          diskMib: 3,
          durationsMs: new Map([['create-disks', 1500]]),
          failAt: new Set(['destroy']),
          stallAt: new Set(['switch-over']),
        });
      },
    ));

  it('are read again when the file has changed; what cannot be read is logged once, and leaves them as they are', () =>
    withFile('{"u1":{"copy_mib":1}}', async (path, write) => {
      const log = new CapturedLog();
      const orders = new OrdersFile(path, log);
      await write('{"u1":{"copy_mib":22}}');
      expect(orders.of({ uuid: 'u1' }).copyMib).to.equal(22);
      await write('{"u1":{"copy_mib":');
      expect(orders.of({ uuid: 'u1' }).copyMib).to.equal(22);
      expect(orders.of({ uuid: 'u1' }).copyMib).to.equal(22);
      expect(log.lines).to.have.length(1);
      await rm(path);
      expect(orders.of({ uuid: 'u1' })).to.deep.equal({});
    }));

  const wrong: readonly (readonly [string, RegExp])[] = [
    ['{"u1":{"fail_at":["explode"]}}', /u1: .*fail_at/s],
    ['{"u1":{"copy_mb":1}}', /copy_mb/],
    ['{"u1":{"bandwidth_mib_s":0}}', /bandwidth_mib_s/],
    ['[]', /orders.json/],
    ['{', /orders.json/],
  ];
  for (const [text, why] of wrong) {
    it(`are refused at start when they are ${text}`, () =>
      withFile(text, async (path) => {
        expect(() => new OrdersFile(path, silentLogger))
          .to.throw(ConfigurationError, why)
          .with.property('code', 'ERR_CONFIGURATION');
      }));
  }

  it('are refused at start when there is no file', () => {
    expect(() => new OrdersFile('/nonexistent/orders.json', silentLogger)).to.throw(
      ConfigurationError,
      /nonexistent/,
    );
  });
});

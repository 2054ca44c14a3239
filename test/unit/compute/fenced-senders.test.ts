import { createTransport, type Transport } from '@ebbgate/core';
import { RpcClient, RpcServer, type ServerRequest } from '@ebbgate/rpc';
import {
  conductorService,
  FencedError,
  Instance,
  MemoryRecords,
  RemoteRecords,
  type ServiceRecord,
} from '@ebbgate/compute';
import { HostEpoch } from '#compute/servicegroup/host-epoch.js';
import { SenderEpochs } from '#compute/servicegroup/sender-epochs.js';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { CapturedLog } from '../../support/captured-log.js';
import { rejectionOf } from '../../support/deferred.js';

const HOST = 'compute-a';
let clouds = 0;

/** A server that refuses what is too old, and a client that sends as a host of some epoch. */
class Peers {
  readonly log = new CapturedLog();
  readonly records = new MemoryRecords(() => undefined);
  readonly transport: Transport;
  readonly epochs: SenderEpochs;
  /** Contexts of what was let through. */
  readonly passed: Readonly<Record<string, unknown>>[] = [];
  reads = 0;
  nowMs = 0;
  #broken = false;

  constructor() {
    clouds += 1;
    this.transport = createTransport(`memory://fenced-${clouds}/`);
    const get = (binary: string, host: string): Promise<ServiceRecord> => {
      this.reads += 1;
      if (this.#broken) return Promise.reject(new Error('nobody is there'));
      return this.records.services.get(binary, host);
    };
    this.epochs = new SenderEpochs({ services: { get }, logger: this.log, now: () => this.nowMs });
  }

  breakRecords(): void {
    this.#broken = true;
  }

  async register(): Promise<void> {
    await this.records.services.register({
      binary: 'compute',
      host: HOST,
      state: 'running',
      reportedAtMs: 1,
    });
  }

  forceDown(forcedDown = true): Promise<ServiceRecord> {
    return this.records.services.update('compute', HOST, { forcedDown });
  }

  async with(work: (call: (epoch?: number) => Promise<unknown>) => Promise<void>): Promise<void> {
    const endpoint = { work: () => 'done' };
    const server = new RpcServer(this.transport, { topic: 'peer', server: 'b' }, [endpoint], {
      interceptors: [
        this.epochs.interceptor,
        (request: ServerRequest, next) => {
          this.passed.push({ ...request.context.values });
          return next(request);
        },
      ],
    });
    await server.start();
    try {
      await work((epoch) => {
        const sender = new HostEpoch(HOST);
        if (epoch !== undefined) sender.take(epoch);
        const interceptors = [sender.stamp];
        const client = new RpcClient(this.transport, { topic: 'peer', server: 'b' }, { interceptors });
        return client.call({ request_id: 'r' }, 'work', {});
      });
    } finally {
      await this.transport.close();
    }
  }
}

describe('what a host sends that was forced down', () => {
  it('is refused when it began before that; its own epoch, a later one, and none at all pass (decision 31)', async () => {
    const peers = new Peers();
    await peers.register();
    await peers.forceDown();
    await peers.with(async (call) => {
      const error = await rejectionOf(call(0));
      expect(error.code).to.equal('ERR_REMOTE'); // this client does not know the error
      expect(error.message).to.contain('Host compute-a was forced down: what it sends in epoch 0 is refused');
      expect(peers.passed).to.deep.equal([]);
      expect(await Promise.all([call(1), call(2), call()])).to.deep.equal(['done', 'done', 'done']);
      expect(peers.passed).to.deep.equal(Array.from({ length: 3 }, () => ({ request_id: 'r' })));
      expect(peers.log.at('error')).to.deep.equal([]); // it is an answer, and no fault of this side
    });
  });

  it('is refused, too, when its record was deleted and the host has registered again since (decision 31, COMP-18)', async () => {
    const peers = new Peers();
    const { services } = peers.records;
    const report = { binary: 'compute', host: HOST, state: 'running' };
    const { epoch } = await services.register({ ...report, reportedAtMs: 1_764_000_000_000 });
    await peers.forceDown();
    await services.delete('compute', HOST);
    const again = await services.register({ ...report, reportedAtMs: 1_764_000_060_000 });
    await peers.with(async (call) => {
      for (const old of [epoch, epoch + 1])
        expect((await rejectionOf(call(old))).message).to.contain('is refused');
      expect(await call(again.epoch)).to.equal('done');
    });
  });

  it('is judged by one reading for many requests, and again after a while, or when a change is heard', async () => {
    const peers = new Peers();
    await peers.register();
    await peers.with(async (call) => {
      await Promise.all([call(0), call(0), call(0)]);
      await call(0);
      expect(peers.reads).to.equal(1);
      const fenced = await peers.forceDown();
      expect(await call(0)).to.equal('done'); // not known yet
      peers.epochs.hear(fenced);
      expect((await rejectionOf(call(0))).message).to.contain('is refused');
      expect(peers.reads).to.equal(1);
      await peers.forceDown(false);
      await peers.forceDown();
      peers.nowMs = 5000;
      expect((await rejectionOf(call(1))).message).to.contain('is refused');
      expect(peers.reads).to.equal(2);
    });
  });

  it('passes when there is no record of the host, and by what was known last when the records cannot be read', async () => {
    const peers = new Peers();
    await peers.with(async (call) => {
      expect(await call(0)).to.equal('done');
      await peers.register();
      peers.epochs.hear(await peers.forceDown());
      peers.breakRecords();
      peers.nowMs = 5000;
      expect((await rejectionOf(call(0))).message).to.contain('is refused');
      expect(await call(1)).to.equal('done');
    });
  });

  it('passes when it carries something that is no epoch (SEC-01)', async () => {
    const peers = new Peers();
    await peers.register();
    await peers.forceDown();
    await peers.with(async () => {
      const client = new RpcClient(peers.transport, { topic: 'peer', server: 'b' });
      for (const values of [
        { ebbgate_host: HOST, ebbgate_epoch: '0' },
        { ebbgate_host: ['__proto__'], ebbgate_epoch: 0 },
        { ebbgate_host: 'a'.repeat(256), ebbgate_epoch: 0 },
        { ebbgate_host: '__proto__', ebbgate_epoch: 0 },
      ])
        expect(await client.call(values, 'work', {})).to.equal('done');
    });
  });
});

describe('a conductor and a host that was forced down', () => {
  it('takes none of its changes, tells it so, and still answers its reports (FD-32, decision 31)', async () => {
    clouds += 1;
    const transport = createTransport(`memory://fenced-${clouds}/`);
    const log = new CapturedLog();
    const { service, own } = conductorService({ name: 'c', records: 'memory', transport, logger: log });
    await service.start();
    const epoch = new HostEpoch(HOST);
    const records = new RemoteRecords(transport, { interceptors: [epoch.stamp] });
    const report = { binary: 'compute', host: HOST, state: 'running', reportedAtMs: 1 };
    epoch.take((await records.services.register(report)).epoch);
    await records.instances.create(Instance.create({ uuid: 'u', host: HOST, vm_state: 'active' }));
    let told = 0;
    epoch.whenRefused(() => (told += 1));
    await own?.services.update('compute', HOST, { forcedDown: true });
    const error = await rejectionOf(records.instances.update('u', { vm_state: 'error' }));
    expect(error).to.be.instanceOf(FencedError);
    expect([error.code, told]).to.deep.equal(['ERR_FENCED', 1]);
    expect((await own?.instances.get('u'))?.get('vm_state')).to.equal('active');
    const answer = await records.services.report(report);
    expect([answer.forcedDown, answer.epoch]).to.deep.equal([true, 1]);
    epoch.take(answer.epoch);
    await records.instances.update('u', { vm_state: 'error' });
    await service.drain('end');
  });
});

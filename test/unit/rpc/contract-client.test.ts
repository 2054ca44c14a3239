import { defineContract, method } from '#rpc/contract.js';
import { contractClient, type ContractCaller } from '#rpc/contract-client.js';
import type { CallerContext } from '@ebbgate/rpc';
import type { PrepareOptions } from '#rpc/prepare.js';
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { z } from 'zod';

const contract = defineContract({
  version: '1.2',
  methods: {
    get: method({
      since: '1.0',
      kind: 'call',
      args: z.object({ id: z.string() }),
      result: z.object({ id: z.string() }),
    }),
    uptime: method({ since: '1.0', kind: 'call' }),
    reboot: method({ since: '1.2', kind: 'cast', args: z.object({ id: z.string() }) }),
  },
});

let sent: object[];
let prepared: number;

/** A client that notes what is sent, and as what it was prepared. */
class NotingClient implements ContractCaller {
  readonly settings: PrepareOptions;

  constructor(settings: PrepareOptions = {}) {
    this.settings = settings;
  }

  prepare(overrides: PrepareOptions): NotingClient {
    prepared += 1;
    return new NotingClient({ ...this.settings, ...overrides });
  }

  call(context: CallerContext, name: string, args?: object, options?: object): Promise<unknown> {
    sent.push({ kind: 'call', context, name, args, options, ...this.settings });
    return Promise.resolve({ id: 'a' });
  }

  cast(context: CallerContext, name: string, args?: object, options?: object): Promise<void> {
    sent.push({ kind: 'cast', context, name, args, options, ...this.settings });
    return Promise.resolve();
  }

  canSendVersion(): boolean {
    return this.settings.version === '1.0';
  }
}

describe('a typed client', () => {
  beforeEach(() => {
    sent = [];
    prepared = 0;
  });

  it('calls by name, with the version in which the method appeared, and resolves with the result', async () => {
    const result = await contractClient(new NotingClient(), contract).get(
      { request_id: 'r' },
      { id: 'a' },
      { detached: true },
    );
    expect(result.id).to.equal('a');
    expect(sent).to.deep.equal([
      {
        kind: 'call',
        context: { request_id: 'r' },
        name: 'get',
        args: { id: 'a' },
        options: { detached: true },
        namespace: null,
        version: '1.0',
      },
    ]);
  });

  it('casts what is a cast, and needs no arguments where there are none', async () => {
    const compute = contractClient(new NotingClient(), contract);
    const casting: Promise<unknown> = compute.reboot({}, { id: 'a' });
    await compute.uptime({});
    expect(await casting).to.equal(undefined);
    expect(sent).to.containSubset([
      { kind: 'cast', name: 'reboot', version: '1.2' },
      { kind: 'call', name: 'uptime', args: undefined, version: '1.0' },
    ]);
  });

  it("sends the contract's namespace", async () => {
    const named = defineContract({
      namespace: 'ops',
      version: '1.0',
      methods: { ping: method({ since: '1.0', kind: 'call' }) },
    });
    await contractClient(new NotingClient({ namespace: 'other' }), named).ping({});
    expect(sent).to.containSubset([{ namespace: 'ops', version: '1.0' }]);
  });

  it('prepares a client once for each version, and not for each call', async () => {
    const compute = contractClient(new NotingClient(), contract);
    expect(prepared).to.equal(0);
    for (let count = 0; count < 5; count += 1) {
      await compute.get({}, { id: 'a' });
      await compute.uptime({});
      await compute.reboot({}, { id: 'a' });
    }
    expect(prepared).to.equal(2);
  });

  it('can be prepared again and again, and stays as it is', async () => {
    const compute = contractClient(new NotingClient({ topic: 'compute' }), contract);
    const ops = compute.prepare({ topic: 'compute-ops' });
    await ops.prepare({ server: 'host' }).reboot({}, { id: 'a' });
    await compute.get({}, { id: 'a' });
    expect(sent).to.containSubset([
      { name: 'reboot', topic: 'compute-ops', server: 'host', version: '1.2' },
      { name: 'get', topic: 'compute', version: '1.0' },
    ]);
    expect(sent[1]).not.to.have.property('server');
  });

  it('tells whether a method may be sent', () => {
    const compute = contractClient(new NotingClient(), contract);
    expect(compute.canSend('get')).to.equal(true);
    expect(compute.canSend('reboot')).to.equal(false);
    expect(() => compute.canSend('toString' as 'get')).to.throw(TypeError, 'no method "toString"');
  });

  it('is no promise, so that it can be awaited', async () => {
    const compute = contractClient(new NotingClient(), contract);
    expect(await Promise.resolve(compute)).to.equal(compute);
  });
});

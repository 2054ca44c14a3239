import { createTransport, silentLogger, type Transport } from '@ebbgate/core';
import { RpcServer } from '@ebbgate/rpc';
import { ComputeApi, conductorService, MemoryRecords, RECORDS_TOPIC } from '@ebbgate/compute';
import type { HttpParts } from '#compute/http/app.js';
import { partsIn } from '#compute/http/all-cells.js';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { eventually } from '../../support/rigs/deadline.js';
import { codeOf } from './test-cloud.js';

const URL = 'memory://rpc-time-out/';
const SHORT_MS = 30;

describe('the time-out of calls, where records and network are in another process that does not answer', () => {
  let asked: string[] = [];
  let transport: Transport;

  beforeEach(async () => {
    asked = [];
    transport = createTransport(URL, { logger: silentLogger, controlExchange: 'nova' });
    const server = new RpcServer(transport, { topic: RECORDS_TOPIC, server: 'stuck' }, [], {
      interceptors: [
        ({ method }) => {
          asked.push(method);
          return new Promise(() => undefined);
        },
      ],
    });
    await server.start();
  });

  afterEach(() => transport.close());

  it('is that of a conductor, which asks again', async () => {
    const { service } = conductorService({
      name: 'c',
      transport: createTransport(URL, { logger: silentLogger, controlExchange: 'nova' }),
      records: 'rpc',
      logger: silentLogger,
      api: { rpcTimeoutMs: SHORT_MS },
    });
    const started = service.start().catch(() => undefined);
    await eventually('it asks again', 3000, () => asked.length > 1);
    await service.drain('the end', { withinMs: 0 });
    await started;
  });

  it('is that of the API in each of its cells', async () => {
    const records = new MemoryRecords(() => undefined);
    const computeApi = new ComputeApi(transport, { rpcTimeoutMs: SHORT_MS });
    const cell = { name: 'cell2', records, computeApi };
    const { networking } = partsIn(
      { records: new MemoryRecords(() => undefined) } as unknown as HttpParts,
      cell,
    ); // of which only this is read
    expect(await codeOf(networking.deallocate('11111111-0000-4000-8000-000000000001'))).to.equal(
      'ERR_TIMEOUT',
    );
    expect(asked).to.deep.equal(['deallocate']);
  });
});

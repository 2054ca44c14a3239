import { createTransport, silentLogger } from '@ebbgate/core';
import { conductorService, MemoryRecords, RemoteRecords } from '@ebbgate/compute';
import { recordsContract } from '../../support/records/contract.js';

let sites = 0;

recordsContract('in memory', async (work) => {
  const records = new MemoryRecords((error) => {
    throw error;
  });
  await work(records);
});

recordsContract('over RPC, at a conductor that has them in memory (COMP-05)', async (work) => {
  sites += 1;
  const url = `memory://records-contract-${sites}/`;
  const transport = createTransport(url);
  const { service } = conductorService({
    name: 'c1',
    transport: createTransport(url),
    records: 'memory',
    logger: silentLogger,
  });
  await service.start();
  try {
    await work(new RemoteRecords(transport, { timeoutMs: 5000 }));
  } finally {
    await service.drain('the test is over');
    await transport.close();
  }
});

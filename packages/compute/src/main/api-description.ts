import { createTransport, silentLogger } from '@ebbgate/core';
import { TaskRegistry } from '@ebbgate/service';
import { RemoteRecords } from '../db/remote-records.js';
import { createApp } from '../http/app.js';
import { openAccess } from '../http/auth.js';
import { Policy } from '../http/policy.js';
import { RemoteNetworking } from '../network/remote.js';
import { ComputeApi } from '../rpc/compute-api.js';
import { ConductorApi } from '../rpc/conductor-api.js';
import { Liveness } from '../servicegroup/liveness.js';

/** The OpenAPI description of the HTTP API, as it serves it: of an API that nobody is behind. */
export async function apiDescription(): Promise<string> {
  const transport = createTransport('memory://description/');
  const { fastify } = createApp({
    records: new RemoteRecords(transport),
    computeApi: new ComputeApi(transport),
    conductor: new ConductorApi(transport),
    networking: new RemoteNetworking(transport),
    liveness: new Liveness(),
    validator: openAccess,
    policy: new Policy(new Map()),
    tasks: new TaskRegistry(),
    logger: silentLogger,
  });
  const { body } = await fastify.inject('/openapi.json');
  await transport.close();
  return `${JSON.stringify(JSON.parse(body), null, 2)}\n`;
}

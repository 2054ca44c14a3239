import type { Logger, Transport } from '@ebbgate/core';
import { RpcServer } from '@ebbgate/rpc';
import type { Records } from '../db/repositories.js';
import { ComputeApi, type ComputeApiOptions } from '../rpc/compute-api.js';
import { objectSerializer } from '../rpc/object-serializer.js';
import { CONDUCTOR_TOPIC } from '../rpc/topics.js';
import { conductorEndpoint } from './manager.js';

/** What a conductor is made of. */
export interface ConductorOptions {
  /** Its name among the conductors: the server of its topic. */
  readonly name: string;
  /** What it serves and sends with; not closed by it. */
  readonly transport: Transport;
  /** Instances, migrations and services. */
  readonly records: Records;
  /** Where it logs. */
  readonly logger: Logger;
  /** How hosts are called. */
  readonly api?: ComputeApiOptions;
}

/** Drives what takes more than one host; one of several on topic `conductor`. */
export class Conductor {
  readonly #server: RpcServer;

  constructor({ name, transport, records, logger, api }: ConductorOptions) {
    const computeApi = new ComputeApi(transport, api);
    const endpoint = conductorEndpoint({ records, computeApi, logger });
    this.#server = new RpcServer(transport, { topic: CONDUCTOR_TOPIC, server: name }, [endpoint], {
      serializer: objectSerializer,
    });
  }

  /** Resolves when it serves. Rejects with ServerListenError (`ERR_SERVER_LISTEN`). */
  start(): Promise<void> {
    return this.#server.start();
  }

  /** Takes nothing more, and resolves when all that it took is done. */
  async stop(): Promise<void> {
    await this.#server.stop();
    await this.#server.wait();
  }
}

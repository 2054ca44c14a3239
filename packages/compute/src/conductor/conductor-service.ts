import type { Logger, Transport } from '@ebbgate/core';
import { RpcServer } from '@ebbgate/rpc';
import {
  type DrainBudgets,
  type HealthOptions,
  Service,
  taskInterceptor,
  TaskRegistry,
} from '@ebbgate/service';
import { ExternalEvents } from '../api/external-events.js';
import { MemoryRecords } from '../db/memory-records.js';
import { RemoteRecords } from '../db/remote-records.js';
import type { Records } from '../db/repositories.js';
import { FakeNetworking } from '../network/fake.js';
import { networkEndpoint } from '../network/endpoint.js';
import { ComputeApi, type ComputeApiOptions } from '../rpc/compute-api.js';
import { objectSerializer } from '../rpc/object-serializer.js';
import { CONDUCTOR_TOPIC, RECORDS_TOPIC } from '../rpc/topics.js';
import { conductorEndpoint } from './manager.js';
import { recordsEndpoint } from './records-endpoint.js';

/** What a conductor that is a process of its own is made of. */
export interface ConductorServiceOptions {
  /** Its name among the conductors: the server of its topics. */
  readonly name: string;
  /** Closed at the end. */
  readonly transport: Transport;
  /**
   * `memory`: this one has the records, and serves them and the fake network service to all others on topic
   * `conductor-records`; one of all conductors does. `rpc`: it reaches them there.
   */
  readonly records: 'memory' | 'rpc';
  /** Where it logs. */
  readonly logger: Logger;
  /** How hosts are called. */
  readonly api?: ComputeApiOptions;
  /** What each part of a drain may take; what is left out has its default. */
  readonly budgets?: Partial<DrainBudgets>;
  /** Opens the health endpoints. */
  readonly health?: HealthOptions;
}

/** A conductor as a service that drains. */
export interface ConductorService {
  /** Starts it, drains it and tells its state. Not started yet. */
  readonly service: Service;
  /** The records, when they are here. */
  readonly own: MemoryRecords | undefined;
}

/**
 * Makes a conductor that drains: work is the business of its new-request server, on topic `conductor`. The server of the
 * records is its ops server, and so stays up while anything is under way that needs them.
 */
export function conductorService(options: ConductorServiceOptions): ConductorService {
  const { name, transport, logger, api, budgets, health } = options;
  const computeApi = new ComputeApi(transport, api);
  const own = options.records === 'memory' ? memoryRecords(logger) : undefined;
  const records: Records = own ?? new RemoteRecords(transport);
  const registry = new TaskRegistry({ logger });
  const endpoint = conductorEndpoint({ records, computeApi, logger });
  const newRequestServer = new RpcServer(transport, { topic: CONDUCTOR_TOPIC, server: name }, [endpoint], {
    serializer: objectSerializer,
    interceptors: [taskInterceptor(registry)],
  });
  const service = new Service({
    name: 'conductor',
    host: name,
    manager: {
      reportState: ({ state, host }) =>
        records.services.report({ binary: 'conductor', host, state, reportedAtMs: Date.now() }),
    },
    newRequestServer,
    ...(own && { opsServer: serverOf(own, computeApi, options) }),
    registry,
    ...(budgets && { budgets }),
    ...(health && { health }),
    logger,
    onExit: () => transport.close(),
  });
  return { service, own };
}

function memoryRecords(logger: Logger): MemoryRecords {
  return new MemoryRecords((error, event) => {
    logger.error({ err: error, event }, 'A listener to the records failed');
  });
}

/** What there is once: the records, and the network service with its word for plugged interfaces. */
function serverOf(
  records: MemoryRecords,
  computeApi: ComputeApi,
  { name, transport, logger }: ConductorServiceOptions,
): RpcServer {
  const externalEvents = new ExternalEvents(records, computeApi);
  const networking = new FakeNetworking({
    notify: (event) => externalEvents.send({}, event),
    onError: (error) => {
      logger.error({ err: error }, 'An external event was not sent');
    },
  });
  const endpoints = [recordsEndpoint(records), networkEndpoint(networking)];
  return new RpcServer(transport, { topic: RECORDS_TOPIC, server: name }, endpoints, {
    serializer: objectSerializer,
  });
}

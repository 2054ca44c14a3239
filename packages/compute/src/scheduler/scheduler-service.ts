import type { Logger, Transport } from '@ebbgate/core';
import { RpcServer } from '@ebbgate/rpc';
import {
  type DrainBudgets,
  Service,
  type ServiceOptions,
  taskInterceptor,
  TaskRegistry,
} from '@ebbgate/service';
import type { Records } from '../db/repositories.js';
import { objectSerializer } from '../rpc/object-serializer.js';
import { SCHEDULER_TOPIC } from '../rpc/topics.js';
import { Liveness } from '../servicegroup/liveness.js';
import { StateReports } from '../servicegroup/state-reports.js';
import { MAX_BUILD_ATTEMPTS } from './build-attempts.js';
import { schedulerEndpoint } from './endpoint.js';
import { LocalScheduler } from './local-scheduler.js';

/** What a scheduler that is a service of its own is made of. */
export interface SchedulerServiceOptions {
  /** Its name among the schedulers: the server of its topic. */
  readonly name: string;
  /** What it serves with. */
  readonly transport: Transport;
  /** Where the hosts and all claims are. */
  readonly records: Records;
  /** Where it logs. */
  readonly logger: Logger;
  /** A host that has not reported for longer is down; default 60000. */
  readonly serviceDownTimeMs?: number;
  /** From one state report to the next; default 10000. */
  readonly reportIntervalMs?: number;
  /** What each part of a drain may take; what is left out has its default. */
  readonly budgets?: Partial<DrainBudgets>;
  /** The health endpoints. */
  readonly health?: ServiceOptions['health'];
  /** Others share its topic: at its end it hands back at once what it has fetched and not begun. Default false. */
  readonly siblings?: boolean;
  /** Runs when it has drained; default: closes `transport`. */
  readonly onExit?: () => Promise<void>;
}

/** Makes a scheduler that drains: it answers all that it has begun, and leaves the rest to its siblings. */
export function schedulerService(options: SchedulerServiceOptions): Service {
  const { name, transport, records, logger, budgets, health, serviceDownTimeMs, reportIntervalMs } = options;
  const liveness = new Liveness({ ...(serviceDownTimeMs !== undefined && { serviceDownTimeMs }) });
  const scheduler = new LocalScheduler({ records, logger, liveness });
  const endpoint = schedulerEndpoint({ scheduler, records, alternates: MAX_BUILD_ATTEMPTS - 1 });
  const registry = new TaskRegistry({ logger });
  const about = { binary: 'scheduler', host: name };
  const reports = new StateReports({ services: records.services, service: about, logger });
  const target = { topic: SCHEDULER_TOPIC, server: name };
  return new Service({
    name: 'scheduler',
    host: name,
    manager: {
      reportState: async (snapshot) => {
        await reports.tell(snapshot);
      },
    },
    newRequestServer: new RpcServer(transport, target, [endpoint], {
      serializer: objectSerializer,
      interceptors: [taskInterceptor(registry)],
      ...(options.siblings === true && { fetched: 'release' }),
    }),
    registry,
    ...(budgets && { budgets }),
    ...(health && { health }),
    ...(reportIntervalMs !== undefined && { reportIntervalMs }),
    logger,
    onExit: options.onExit ?? (() => transport.close()),
  });
}

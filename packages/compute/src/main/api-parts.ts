import type { Logger, Transport } from '@ebbgate/core';
import type { Records } from '../db/repositories.js';
import { type ApiService, type ApiServiceOptions, apiService } from '../http/api-service.js';
import type { ListenAddress } from '../http/http-server.js';
import { accessOf, type ApiFlags } from './api-flags.js';
import { apiOptions, eventPrinter } from './daemon.js';
import type { DaemonOptions } from './daemon-options.js';

/** What an API is told, whether it has a process of its own or not. */
interface ApiOptions extends DaemonOptions, ApiFlags {
  readonly name: string;
  readonly listen: ListenAddress;
  readonly serviceDownTime: number;
}

/** What it works with. */
interface ApiParts extends Pick<
  ApiServiceOptions,
  'cells' | 'health' | 'events' | 'metrics' | 'notifications' | 'onExit'
> {
  readonly transport: Transport;
  readonly records: Records;
  readonly logger: Logger;
}

/** The API of a daemon: it tells where it listens, and reads its tokens again too when it is reloaded. */
export function apiOf(options: ApiOptions, parts: ApiParts): Pick<ApiService, 'service' | 'reload'> {
  const { name, listen, serviceDownTime, rateLimit, budgets } = options;
  const { logger } = parts;
  const print = eventPrinter(options);
  const { validator, policy, reload: readTokens } = accessOf(options, logger);
  const api = apiOptions(options, print);
  const serviceDownTimeMs = serviceDownTime * 1000;
  const more = { name, listen, validator, policy, api, serviceDownTimeMs, rateLimit, budgets };
  const { service, server, reload } = apiService({ ...parts, ...more });
  service.events.on('state', ({ state }) => {
    if (state !== 'running' || !server.address) return;
    logger.info(server.address, 'The API listens');
    print({ kind: 'listens', ...server.address });
  });
  return {
    service,
    reload: async () => {
      readTokens();
      await reload();
    },
  };
}

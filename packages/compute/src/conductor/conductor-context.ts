import type { Logger } from '@ebbgate/core';
import type { Records } from '../db/repositories.js';
import type { ComputeApi } from '../rpc/compute-api.js';

/** What the tasks of a conductor work with. */
export interface ConductorContext {
  readonly records: Records;
  readonly computeApi: ComputeApi;
  readonly logger: Logger;
}

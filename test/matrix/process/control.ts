import type { Party } from '../parties.js';
import type { MatrixCase } from './matrix-case.js';
import type { FlowSteps } from './plan.js';

/** A run without ops servers, and the message that then does not arrive. */
export interface Control {
  readonly flow: string;
  readonly party: Party;
  /** The label of the message at which it is stopped. */
  readonly at: string;
  readonly lost: string;
  /** The queue in which that waits. */
  readonly queue: string;
}

/**
 * Flows whose follow-ups have nowhere to go once a host without an ops server takes no new requests (GS-4). The source of a
 * live migration only sends, but for the event that tells that the interfaces are there.
 */
export const CONTROLS: readonly Control[] = [
  {
    flow: 'live-migration',
    party: 'source',
    at: 'pre_live_migration',
    lost: 'external_instance_event',
    queue: 'compute.a',
  },
  {
    flow: 'live-migration',
    party: 'destination',
    at: 'migration_update status=running',
    lost: 'post_live_migration_at_destination',
    queue: 'compute.b',
  },
  {
    flow: 'cold-migration',
    party: 'destination',
    at: 'resize_instance',
    lost: 'finish_resize',
    queue: 'compute.b',
  },
];

/** @throws RangeError when a flow has no such message */
export function controlCases(steps: FlowSteps): readonly MatrixCase[] {
  return CONTROLS.map(({ flow, party, at }) => {
    const index = steps.get(flow)?.findIndex(({ label }) => label === at) ?? -1;
    if (index < 0) throw new RangeError(`${flow} has no message ${at}`);
    return { flow, party, way: 'TERM', step: index + 1, opsServer: false };
  });
}

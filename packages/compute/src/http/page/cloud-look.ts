import { UnitedRecords } from '../../cells/united-records.js';
import { Lookout } from '../../operator/sight.js';
import type { HttpParts } from '../app.js';
import { ServiceDirectory } from '../service-directory.js';
import { type CloudView, cloudView, type HostView } from './cloud-view.js';

/** What is looked at. */
type LookParts = Pick<HttpParts, 'records' | 'liveness' | 'computeApi' | 'cells'>;

/**
 * What looks at a cloud, at all of its cells, again and again. Rejects as the records do; of several cells, those that can be
 * reached are shown, and which hosts the others had.
 */
export function cloudLook(parts: LookParts): () => Promise<CloudView> {
  const { records, liveness, cells } = parts;
  const seen = { records, liveness }; // with cells, the records of those that answer now
  const lookout = new Lookout(seen);
  if (!cells) return async () => cloudView(await lookout.look());
  const directory = new ServiceDirectory(parts, cells);
  return async () => {
    const { answering, unreachable } = await directory.list({ binary: 'compute' });
    const reached = (await cells.others('')).filter(({ name }) => answering.has(name));
    seen.records = new UnitedRecords(reached, cells.mappings);
    const view = cloudView(await lookout.look());
    return { ...view, hosts: [...view.hosts, ...unreachable.map(({ host }) => unreachableHost(host))] };
  };
}

function unreachableHost(host: string): HostView {
  return {
    id: `unreachable ${host}`,
    host,
    state: 'unreachable',
    zone: null,
    disabled: false,
    disabled_reason: null,
    forced_down: false,
    forced_down_reason: null,
    used: null,
    total: null,
    last_report_ms: null,
    drain: null,
  };
}

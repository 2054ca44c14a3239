import type { Records } from '../db/repositories.js';
import { Liveness } from '../servicegroup/liveness.js';

/** Does the host take new requests, as its last report says: is it up, and does it not drain? */
export async function takesRequests(records: Records, host: string): Promise<boolean> {
  const services = await records.services.list('compute');
  const service = services.find((one) => one.host === host);
  return service?.state === 'running' && new Liveness().isUp(service);
}

import type { Records, ServiceRecord } from '../db/repositories.js';
import { UnexpectedStateError } from '../errors.js';
import { isFinal } from '../objects/states.js';

/**
 * Removes the record of a service. A compute host must have nothing any more: no instance, no migration that is under way,
 * nothing allocated (HTTP-04). Nothing can be put there from the moment on at which that was seen.
 * @throws UnexpectedStateError (`ERR_UNEXPECTED_STATE`), and the record stays; RecordNotFoundError (`ERR_NOT_FOUND`)
 */
export async function deleteService(
  { instances, migrations, allocations, services }: Records,
  { binary, host }: Pick<ServiceRecord, 'binary' | 'host'>,
): Promise<void> {
  await services.get(binary, host);
  if (binary === 'compute') {
    if ((await instances.find({ host })).length > 0) {
      throw new UnexpectedStateError(`${host} is hosting instances: migrate or delete the instances first`);
    }
    const found = await Promise.all([
      migrations.find({ source_compute: host }),
      migrations.find({ dest_compute: host }),
    ]);
    if (found.flat().some((one) => !isFinal(one.get('status')))) {
      throw new UnexpectedStateError(
        `${host} has migrations in progress: complete them, or delete the instances first`,
      );
    }
    await allocations.forget(host); // refuses while something is allocated
  }
  await services.delete(binary, host);
}

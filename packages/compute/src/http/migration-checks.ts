import { setTimeout as sleep } from 'node:timers/promises';
import type { Records } from '../db/repositories.js';
import { badRequest } from './http-error.js';

const LOOK_MS = 50;
/** A client that has waited so long is told that it was accepted, as it was. */
const PATIENCE_MS = 20_000;

/** No source has it: not yet, or not any more. */
const UNCHECKED: ReadonlySet<string> = new Set(['none', 'accepted', 'error', 'failed']);

/**
 * Waits until the checks before a live migration are over: its source has it, or it was refused.
 * @param before - number of the instance's newest migration before it was asked for
 * @throws HttpError 400 when it was refused; the message says why
 */
export async function checksOver(
  { instances, migrations }: Records,
  uuid: string,
  before: number,
): Promise<void> {
  const until = performance.now() + PATIENCE_MS;
  while (performance.now() < until) {
    const instance = await instances.get(uuid);
    const isBusy = instance.get('task_state') === 'migrating';
    const move = (await migrations.find({ instance_uuid: uuid })).findLast((one) => one.get('id') > before);
    const status = move?.get('status') ?? 'none';
    if (!UNCHECKED.has(status)) return;
    // A refusal is over when it was taken back: the instance then has its fault.
    if (!isBusy)
      throw badRequest(instance.find('fault')?.find('message') ?? 'The live migration was refused');
    await sleep(LOOK_MS);
  }
}

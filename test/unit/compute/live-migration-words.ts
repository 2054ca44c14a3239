import type { VmState } from '@ebbgate/compute';
import { allIdle, type Outcome, outcomeOf, untouched } from './resize-words.js';
import { DEST, SOURCE, type TestCloud } from './test-cloud.js';

/** What is left of a live migration. */
export interface LiveOutcome extends Outcome {
  /** Hosts that the ports are still to come to. */
  readonly alsoBoundTo: readonly string[];
}

/** What is left when nothing runs any more. */
export async function liveOutcomeOf(test: TestCloud, uuid: string): Promise<LiveOutcome> {
  await allIdle(test);
  return liveOutcomeNow(test, uuid);
}

export async function liveOutcomeNow(test: TestCloud, uuid: string): Promise<LiveOutcome> {
  return { ...(await outcomeOf(test, uuid)), alsoBoundTo: test.cloud.networking.alsoBoundTo(uuid) };
}

/** All as before at the source, and nothing at the destination. */
export function stayed(status: string, vm: VmState = 'active'): LiveOutcome {
  return { ...untouched(SOURCE, status), state: `${vm}/-`, alsoBoundTo: [] };
}

/** All at the destination, and nothing at the source. */
export function arrived(status: string, vm: VmState = 'active'): LiveOutcome {
  return { ...untouched(DEST, status), state: `${vm}/-`, alsoBoundTo: [] };
}

/** What is left of it in the end, however it ends. */
export async function migrateUntil(
  test: TestCloud,
  uuid: string,
  status: Parameters<TestCloud['migrationBecomes']>[1],
): Promise<LiveOutcome> {
  await test.migrate(uuid);
  await test.migrationBecomes(uuid, status);
  return liveOutcomeOf(test, uuid);
}

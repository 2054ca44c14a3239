import type { Case, Group, Need } from './case.js';
import { addressing } from './groups/addressing.js';
import { delivery } from './groups/delivery.js';
import { expiry } from './groups/expiry.js';
import { fanout } from './groups/fanout.js';
import { hostileNames } from './groups/hostile-names.js';
import { lifecycle } from './groups/lifecycle.js';
import { limits } from './groups/limits.js';
import { notifications } from './groups/notifications.js';
import { outage } from './groups/outage.js';
import { reconnect } from './groups/reconnect.js';
import { reply } from './groups/reply.js';
import { serverLifecycle } from './groups/server-lifecycle.js';
import { settling } from './groups/settling.js';
import { Lab } from './lab.js';
import { completeOptions, type DriverSuiteOptions, type Suite } from './suite-options.js';
import { LINK_MUST_HOLD, whileLinkHolds } from './while-link-holds.js';

const GROUPS: readonly Group[] = [
  addressing,
  delivery,
  settling,
  reply,
  fanout,
  notifications,
  lifecycle,
  serverLifecycle,
  expiry,
  reconnect,
  outage,
  limits,
  hostileNames,
];

/**
 * Registers the conformance suite with a test runner. A driver that passes it behaves as every other one, as far as its
 * manifest says that it can; tests of what it cannot do are skipped, and printed with the reason.
 *
 * ```ts
 * import { describe, it } from 'node:test';
 *
 * driverSuite({ describe, it, url: 'mine://localhost', drivers: [myDriver], faults: myFaults });
 * ```
 *
 * Asserts with `node:assert`, so that any runner will do. Each test uses names that nobody else has, bounds all of its
 * waits, and closes what it has opened: tests may run in any order, and together with others on the same broker.
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) for options that are missing or wrong, and for a manifest that does not
 * state every feature.
 */
export function driverSuite(options: DriverSuiteOptions): void {
  const suite = completeOptions(options);
  for (const group of GROUPS) {
    suite.describe(group.name, () => {
      for (const one of group.cases) register(suite, one);
    });
  }
}

function register(suite: Suite, one: Case): void {
  const run = (): Promise<void> => runStressed(suite, one);
  const lacking = one.needs.map((need) => lackOf(suite, need)).find((lack) => lack !== undefined);
  const reason = suite.unsteady ? LINK_MUST_HOLD.get(one.title) : undefined;
  const title =
    reason === undefined ? one.title : `${one.title} [while the link holds, as after a loss ${reason}]`;
  if (lacking === undefined) suite.it(title, run);
  else suite.it.skip(`${one.title} [skipped: ${lacking}]`, run);
}

/** Why the test cannot be run, if it cannot. */
function lackOf({ features, faults, noFaultsBecause }: Suite, need: Need): string | undefined {
  switch (need) {
    case 'messageLimit':
      return features.maxMessageBytes === Infinity
        ? 'the driver states no limit, maxMessageBytes: Infinity'
        : undefined;
    case 'faults':
      return faults ? undefined : `no faults, ${noFaultsBecause}`;
    case 'stall':
    case 'cancelConsumers':
      if (!faults) return `no faults, ${noFaultsBecause}`;
      return faults[need] ? undefined : `the faults that were given have no ${need}()`;
    default:
      return features[need] ? undefined : `the driver states ${need}: false`;
  }
}

async function runStressed(suite: Suite, one: Case): Promise<void> {
  const times = Array.from({ length: suite.stress }, () => () => runOnce(suite, one));
  if (one.needs.some(isFault)) {
    for (const run of times) await run();
    return;
  }
  const outcomes = await Promise.allSettled(times.map((run) => run()));
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed) throw failed.reason;
}

function isFault(need: Need): boolean {
  return need === 'faults' || need === 'stall' || need === 'cancelConsumers';
}

/** Runs one test to its end, and undoes what it did. Of all failures the first one is told. */
async function runOnce(suite: Suite, one: Case): Promise<void> {
  if (suite.unsteady && LINK_MUST_HOLD.has(one.title)) return whileLinkHolds(suite, one);
  const lab = new Lab(suite);
  try {
    await one.run(lab);
    await lab.passed();
  } catch (error) {
    await lab.end().catch(() => undefined);
    throw error;
  }
  await lab.end();
}

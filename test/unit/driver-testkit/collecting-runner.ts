import { memoryFaults, TransportUrl, uniqueId, type DriverFactory } from '@ebbgate/core';
import { driverSuite, type DriverSuiteOptions, type It } from '@ebbgate/driver-testkit';

/** A test that the suite has registered. */
export interface Collected {
  readonly group: string;
  readonly title: string;
  readonly skipped: boolean;
  readonly run: () => Promise<void>;
}

/** A runner that runs nothing, and the list of what it was given. */
export function collector(): {
  describe: (title: string, body: () => void) => void;
  it: It;
  tests: Collected[];
} {
  const tests: Collected[] = [];
  let group = '';
  const describe = (title: string, body: () => void): void => {
    group = title;
    body();
  };
  const it = (title: string, run: () => Promise<void>): void => {
    tests.push({ group, title, run, skipped: false });
  };
  it.skip = (title: string, run: () => Promise<void>): void => {
    tests.push({ group, title, run, skipped: true });
  };
  return { describe, it, tests };
}

/** Groups whose tests strike the whole broker, and so run one after another. */
const ALONE = new Set(['reconnect', 'outage', 'limits', 'notifications']);

/** Titles of the tests that a driver fails, of those that `chosen` takes. It has a broker of its own. */
export async function failuresOf(
  driver: DriverFactory,
  chosen: (test: Collected) => boolean = () => true,
  waitMs = 400,
  given: Partial<DriverSuiteOptions> = {},
): Promise<string[]> {
  const url = `memory://${uniqueId()}/`;
  const { describe, it, tests } = collector();
  const faults = memoryFaults(TransportUrl.parse(url));
  const own = { describe, it, url, drivers: [driver], faults, waitMs };
  driverSuite({ ...own, ...given } as DriverSuiteOptions); // the parts of one form only;
  const failed: string[] = [];
  const attempt = async ({ title, run }: Collected): Promise<void> => {
    await run().catch(() => {
      failed.push(title);
    });
  };
  const ready = tests.filter((test) => !test.skipped && chosen(test));
  for (const group of new Set(ready.map((test) => test.group))) {
    const together = ready.filter((test) => test.group === group);
    if (!ALONE.has(group)) await Promise.all(together.map(attempt));
    else for (const test of together) await attempt(test);
  }
  return failed;
}

// The steps of each flow that nobody stops, on hosts with an ops server and on hosts without; on stdout one line of JSON for
// each flow. A program of its own, as it replaces the clock of its process.
import { RecordedJob } from '#compute/main-job/recorded-job.js';
import { FLOWS } from './flows.js';
import { runCase } from './run-case.js';
import { SimulatedTime } from './simulated-time.js';

/** The steps of a flow, one for each message that is sent or arrives, and two for each change of a record. */
export interface Undisturbed {
  readonly flow: string;
  readonly withOpsServer: readonly string[];
  readonly without: readonly string[];
}

const recorded = await RecordedJob.read(); // on the real clock
const time = new SimulatedTime();
for (const flow of FLOWS) {
  const stepsOf = async (opsServer: boolean): Promise<readonly string[]> =>
    (await time.run(() => runCase(recorded, flow, 1, opsServer))).labels;
  const line: Undisturbed = {
    flow: flow.name,
    withOpsServer: await stepsOf(true),
    without: await stepsOf(false),
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
process.exit(0); // the clock stands still now

import { expect } from 'chai';
import { after, describe, it } from 'mocha';
import { onAmqp10 } from '../matrix/process/broker.js';
import { failureOf } from '../matrix/process/failure.js';
import { FLOWS } from '../matrix/process/flows.js';
import { representativeCases } from '../matrix/process/plan.js';
import { MatrixRunner } from '../matrix/process/runner.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';

const rabbit = await sharedRabbit();
/** Which messages of the flow are tried; `npm run matrix -- --transport amqp10` tries all of all flows. */
const SEED = 1;
const MOST = 2;
const FLOW = 'live-migration';

describe('a flow with SIGTERM or kill -9 in the middle of it, each service a process that speaks AMQP 1.0', function () {
  this.timeout(240_000);
  const runner = new MatrixRunner(onAmqp10(rabbit), { opsServer: true, lanes: 2 });

  after(() => runner.dispose());

  it('loses nothing, and after SIGTERM completes what had begun (COMP-07, GS-2, GS-5, GS-6, GS-8, GS-101)', async () => {
    const steps = await runner.stepsOf(FLOWS.filter(({ name }) => name === FLOW));
    const results = await runner.run(representativeCases(steps, SEED, { flow: FLOW }).slice(0, MOST));
    const bad = results.filter(({ problems }) => problems.length > 0).map(failureOf);
    expect(results).not.to.be.empty;
    if (bad.length > 0) expect.fail(`\n${bad.join('\n')}`);
  });
});

import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { onRabbit } from '../matrix/process/broker.js';
import { CONTROLS, controlCases } from '../matrix/process/control.js';
import { FLOWS } from '../matrix/process/flows.js';
import { WAYS } from '../matrix/parties.js';
import { commandOf, type MatrixResult } from '../matrix/process/matrix-case.js';
import { failureOf } from '../matrix/process/failure.js';
import { representativeCases } from '../matrix/process/plan.js';
import { MatrixRunner } from '../matrix/process/runner.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';

const rabbit = await sharedRabbit();
/** Which messages of the flows are tried; `npm run matrix -- --processes` tries all. */
const SEED = 1;
const LANES = 2;

describe('every flow, with SIGTERM or kill -9 in the middle of it, each service a process on RabbitMQ', function () {
  this.timeout(600_000);
  const runner = new MatrixRunner(onRabbit(rabbit), { opsServer: true, lanes: LANES });
  let results: readonly MatrixResult[] = [];

  before(async () => {
    results = await runner.run(representativeCases(await runner.stepsOf(FLOWS), SEED));
  });

  after(() => runner.dispose());

  it('is tried at least 60 times: every flow in both ways, and every party that has a part in it (GS-5)', () => {
    expect(results.length).to.be.at.least(60);
    for (const { name, parties } of FLOWS) {
      const its = results.filter(({ flow }) => flow === name);
      expect(new Set(its.map(({ way }) => way)), name).to.deep.equal(new Set(WAYS));
      expect(new Set(its.map(({ party }) => party)), name).to.deep.equal(new Set(parties));
    }
  });

  for (const { name } of FLOWS) {
    it(`loses nothing of ${name}, and after SIGTERM completes what had begun (COMP-07, GS-2, GS-5, GS-6, GS-8, GS-68, GS-76, GS-93, GS-101, GS-102)`, () => {
      const its = results.filter(({ flow }) => flow === name);
      const bad = its.filter(({ problems }) => problems.length > 0).map(failureOf);
      expect(its).to.not.be.empty;
      if (bad.length > 0) expect.fail(`\n${bad.join('\n')}`);
    });
  }
});

describe('the same flows on hosts without ops servers', function () {
  this.timeout(240_000);
  const runner = new MatrixRunner(onRabbit(rabbit), { opsServer: false, lanes: LANES });
  let results: readonly MatrixResult[] = [];

  before(async () => {
    const flows = FLOWS.filter(({ name }) => CONTROLS.some(({ flow }) => flow === name));
    results = await runner.run(controlCases(await runner.stepsOf(flows)));
  });

  after(() => runner.dispose());

  for (const { flow, party, lost, queue } of CONTROLS) {
    it(`break ${flow} when the ${party} gets SIGTERM: ${lost} does not arrive (GS-4)`, () => {
      const result = results.find((one) => one.flow === flow && one.party === party);
      if (!result) throw new RangeError(`${flow} was not tried with the ${party}`);
      expect(result.problems.join('\n'), commandOf(result)).to.contain(`${lost} waits in ${queue}.`);
    });
  }
});

import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { onFakeClock } from '../../support/fake-clock.js';
import { MemoryWalk } from './support/memory-walk.js';
import { type Manner, ScriptedWalk } from './support/scripted-walk.js';
import { OPTIONS, RUSH, type Step, stepsOf, verbs, walkAlong } from './support/walk.js';

const MANNER = fc.constantFrom<Manner>('at once', 'later', 'never', 'fails');
const ANSWER = fc.constantFrom('listen', 'stop', 'close', 'pause', 'accept');

/** Of each property; `STRESS` asks for so many times as many. */
const RUNS = 500 * Number(process.env['STRESS'] ?? 1);

describe('a message server, whatever happens in whatever order', () => {
  it('settles each delivery and each call once, on a driver that answers late, never or by failing (CORE-01, CORE-03, AMQP-29, AMQP-36)', async () => {
    let walked = 0;
    await onFakeClock(async (clock) => {
      const kinds: fc.Arbitrary<Step<ScriptedWalk>>[] = [
        ...verbs<ScriptedWalk>(),
        ...[1, 2, 3].map(() =>
          fc
            .tuple(fc.integer({ min: 1, max: 4 }), fc.boolean())
            .map(([count, expires]): Step<ScriptedWalk> => [
              `arrive ${String(count)}`,
              (walk) => walk.arrive(count, expires),
            ]),
        ),
        fc
          .tuple(ANSWER, MANNER)
          .map(([what, manner]): Step<ScriptedWalk> => [
            `${what} ${manner}`,
            (walk) => void (walk.manner[what] = manner),
          ]),
        fc.constant(['answer all', (walk) => walk.answerAll()]),
        fc.constant(['cut', (walk) => walk.cut()]),
      ];
      await fc.assert(
        fc.asyncProperty(OPTIONS, stepsOf(kinds), RUSH, async (options, steps, rush) => {
          const walk = new ScriptedWalk(options);
          await walkAlong(walk, steps, rush, options.slots, clock);
          await walk.finish(clock);
          walked += steps.length;
          const names = steps.map(([name]) => name).join(', ');
          expect(walk.faults, names).to.deep.equal([]);
          expect(walk.unsettled, names).to.deep.equal([]);
          const badly = walk.deliveries.filter(({ delivery }) => delivery.settled.length !== 1);
          expect(
            badly.map(({ delivery }) => [delivery.message.id, ...delivery.settled]),
            names,
          ).to.deep.equal([]);
          expect([walk.server.running, walk.server.waiting], names).to.deep.equal([0, 0]);
          const { run, expired, duplicate, malformed, released, gone } = walk.server.counts;
          expect(run + expired + duplicate + malformed + released + gone, names).to.equal(
            walk.deliveries.length,
          );
          expect(walk.handler.ended.length, names).to.equal(run);
        }),
        { numRuns: RUNS },
      );
    });
    expect(walked).to.be.greaterThan(2000);
  }).timeout(60_000);

  it('loses no message, runs none twice and keeps to the credit, on the in-memory driver under its faults (CORE-03, AMQP-39)', async () => {
    let walked = 0;
    await onFakeClock(async (clock) => {
      const kinds: fc.Arbitrary<Step<MemoryWalk>>[] = [
        ...verbs<MemoryWalk>(),
        ...[1, 2, 3].map(() =>
          fc
            .integer({ min: 1, max: 5 })
            .map((count): Step<MemoryWalk> => [`send ${String(count)}`, (walk) => walk.send(count)]),
        ),
        ...(['cut', 'restore', 'restore', 'stall', 'resume', 'resume', 'cancelConsumers'] as const).map(
          (fault) => fc.constant<Step<MemoryWalk>>([fault, (walk) => walk.bed.faults[fault]()]),
        ),
      ];
      await fc.assert(
        fc.asyncProperty(OPTIONS, stepsOf(kinds), RUSH, async (options, steps, rush) => {
          const walk = new MemoryWalk(options);
          await walk.client.connect();
          await walkAlong(walk, steps, rush, options.slots, clock);
          await walk.finish(clock);
          walked += steps.length;
          const names = steps.map(([name]) => name).join(', ');
          expect(walk.faults, names).to.deep.equal([]);
          expect(walk.unsettled, names).to.deep.equal([]);
          expect([...walk.handler.begun].sort(), names).to.deep.equal([...walk.sent].sort());
        }),
        { numRuns: RUNS },
      );
    });
    expect(walked).to.be.greaterThan(2000);
  }).timeout(60_000);
});

import {
  createTransport,
  type Delivery,
  memoryDriver,
  MessageDeliveryError,
  MessagingTimeoutError,
  timers,
} from '@ebbgate/core';
import { driverSuite } from '@ebbgate/driver-testkit';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { Lab } from '#testkit/lab.js';
import { LINK_MUST_HOLD } from '#testkit/while-link-holds.js';
import { rejectionOf } from '../../support/deferred.js';
import { eventually } from '../../support/rigs/deadline.js';
import { randomNumbers } from '../../support/rigs/random-faults.js';
import { broken, WrappedDriver } from './broken-driver.js';
import { type Collected, collector, failuresOf } from './collecting-runner.js';
import { RestlessBroker } from './restless-broker.js';

const SEED = 20;

/** After what the inner driver does with every fifth message or so, `how` says what becomes of the send. */
function sends(how: () => Promise<void>): ReturnType<typeof broken> {
  const random = randomNumbers(SEED);
  return broken(
    (inner) =>
      new (class extends WrappedDriver {
        override publish: WrappedDriver['publish'] = async (destination, message, options) => {
          await inner.publish(destination, message, options);
          if (random() < 0.2) await how();
        };
      })(inner),
  );
}

/** A driver whose deliveries pass `between` on their way to the owner. */
function delivers(
  between: (one: Delivery, onDelivery: (one: Delivery) => void) => void,
): ReturnType<typeof broken> {
  return broken(
    (inner) =>
      new (class extends WrappedDriver {
        override listen: WrappedDriver['listen'] = (source, options, onDelivery) =>
          inner.listen(source, options, (one) => {
            between(one, onDelivery);
          });
      })(inner),
  );
}

const MANY = /messages that are sent at the same time arrive once each/;

/** What is wrong with a driver, and the test that must see it although links fail. */
const BROKEN: readonly (readonly [what: string, driver: () => ReturnType<typeof broken>, seenBy: RegExp])[] =
  [
    [
      'says "not sent" of what has arrived',
      () => sends(() => Promise.reject(new MessageDeliveryError('lost'))),
      MANY,
    ],
    [
      'fails with another error than that of a delivery',
      () => sends(() => Promise.reject(new MessagingTimeoutError('lost'))),
      MANY,
    ],
    [
      'brings a message twice, and calls both the first',
      () =>
        delivers((one, onDelivery) => {
          onDelivery(one);
          queueMicrotask(() => {
            onDelivery(one);
          });
        }),
      MANY,
    ],
    [
      'loses what comes again',
      () =>
        delivers((one, onDelivery) => {
          if (one.redelivered) one.reject();
          else onDelivery(one);
        }),
      /what was not settled comes again after its connection was lost/,
    ],
    [
      'hears nothing any more after a loss',
      () =>
        broken((inner, { events }) => {
          let isDeaf = false;
          const connection = events.connection.bind(events);
          events.connection = (state, cause) => {
            isDeaf ||= state === 'disconnected';
            connection(state, cause);
          };
          return new (class extends WrappedDriver {
            override listen: WrappedDriver['listen'] = (source, options, onDelivery) =>
              inner.listen(source, options, (one) => {
                if (!isDeaf) onDelivery(one);
              });
          })(inner);
        }),
      /a listener comes back by itself/,
    ],
    [
      'settles deliveries whose channel is gone',
      () =>
        delivers((one, onDelivery) => {
          const accept = (): boolean => {
            void one.accept();
            return true;
          };
          const { message, redelivered } = one;
          onDelivery({
            message,
            redelivered,
            accept,
            release: () => one.release(),
            reject: () => one.reject(),
          });
        }),
      /accept\(\) after the close of its listener does nothing/,
    ],
  ];

describe('the conformance suite on an unsteady link', () => {
  let broker: RestlessBroker;

  beforeEach(() => {
    broker = new RestlessBroker(SEED);
  });

  afterEach(async function () {
    this.timeout(30_000);
    broker.stop();
    await eventually('the end of all that was cut off', 25_000, () => timers.size === 0);
  });

  function failures(
    driver: ReturnType<typeof broken>,
    chosen?: (test: Collected) => boolean,
    waitMs?: number,
  ): Promise<string[]> {
    const { url, faults } = broker;
    return failuresOf(driver, chosen, waitMs, { url, faults, unsteady: true });
  }

  it('passes the in-memory driver whose connections are lost every few milliseconds (style rule 22)', async () => {
    expect((await failures(memoryDriver, undefined, 4000)).join('\n')).to.equal('');
    expect(broker.cuts).to.be.above(100);
  }).timeout(120_000);

  it('passes a driver that often cannot tell whether a message has arrived (AMQP-02, style rule 22)', async () => {
    const unsure = sends(() => Promise.reject(new MessageDeliveryError('lost', { outcome: 'unknown' })));
    expect((await failures(unsure, undefined, 4000)).join('\n')).to.equal('');
  }).timeout(120_000);

  for (const [what, driver, seenBy] of BROKEN) {
    it(`catches a driver that ${what} (style rule 22)`, async () => {
      const failed = await failures(driver(), ({ title }) => seenBy.test(title));
      expect(failed).to.have.lengthOf.at.least(1);
      expect(failed[0]).to.match(seenBy);
    }).timeout(10_000);
  }

  it('lets a test that was given up do nothing more to the broker (style rule 22)', async () => {
    const { features } = createTransport(broker.url);
    let strikes = 0;
    const strike = (): void => void (strikes += 1);
    const faults = { cut: strike, restore: strike, stall: strike, resume: strike, cancelConsumers: strike };
    const lab = new Lab({
      features,
      faults,
      unsteady: true,
      waitMs: 1000,
      createTransport: () => createTransport(broker.url),
    });
    await lab.end();
    for (const act of [() => lab.stall(), () => lab.cut(), async () => lab.faults, () => lab.transport()])
      expect(String(await rejectionOf(act()))).to.contain('given up');
    expect(strikes).to.equal(0);
  });

  it('names every test that is judged only while the link holds, with the reason, and leaves none out (style rule 22)', () => {
    const titlesOf = (unsteady: boolean): string[] => {
      const { tests, ...runner } = collector();
      const { url, faults } = broker;
      driverSuite({ ...runner, url, drivers: [memoryDriver], faults, unsteady });
      expect(tests.filter(({ skipped }) => skipped)).to.deep.equal([]);
      return tests.map(({ title }) => title);
    };
    const steady = titlesOf(false);
    expect(LINK_MUST_HOLD.size).to.be.below(21);
    for (const title of LINK_MUST_HOLD.keys()) expect(steady).to.include(title);
    const expected = steady.map((title) => {
      const reason = LINK_MUST_HOLD.get(title);
      return reason === undefined ? title : `${title} [while the link holds, as after a loss ${reason}]`;
    });
    expect(titlesOf(true)).to.deep.equal(expected);
  });
});

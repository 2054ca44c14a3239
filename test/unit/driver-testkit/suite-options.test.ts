import {
  createTransport,
  memoryDriver,
  memoryFaults,
  TransportUrl,
  uniqueId,
  type DriverFeatures,
} from '@ebbgate/core';
import { driverSuite, type DriverSuiteOptions } from '@ebbgate/driver-testkit';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { broken, WrappedDriver } from './broken-driver.js';
import { type Collected, collector, failuresOf } from './collecting-runner.js';

const url = `memory://${uniqueId()}/`;
const faults = memoryFaults(TransportUrl.parse(url));
const nothing = { describe: (): void => {}, it: Object.assign((): void => {}, { skip: (): void => {} }) };
const complete = { ...nothing, url, drivers: [memoryDriver], faults };

/** Options as JavaScript could give them. */
function given(changes: Record<string, unknown>): DriverSuiteOptions {
  return { ...complete, ...changes }; // wrong on purpose
}

/** Tests that are registered with these options. */
function registered(changes: Record<string, unknown>): Collected[] {
  const { tests, ...runner } = collector();
  driverSuite(given({ ...changes, ...runner }));
  return tests;
}

/** A memory driver that states less than it can. */
function modest(features: Partial<DriverFeatures>): ReturnType<typeof broken> {
  return broken(
    (inner) =>
      new (class extends WrappedDriver {
        override get features(): DriverFeatures {
          return { ...inner.features, ...features };
        }
      })(inner),
  );
}

const REFUSED: readonly (readonly [what: string, changes: Record<string, unknown>, text: RegExp])[] = [
  ['no faults', { faults: undefined }, /faults must have functions cut and restore/],
  ["faults: 'none' without a reason", { faults: 'none' }, /needs a reason, in noFaultsBecause/],
  ["faults: 'none' with a blank reason", { faults: 'none', noFaultsBecause: ' ' }, /needs a reason/],
  ['stall without resume', { faults: { ...faults, resume: undefined } }, /both stall and resume/],
  ['a runner that cannot skip', { it: () => {} }, /function skip/],
  ['no describe', { describe: undefined }, /describe must be a function/],
  [
    'no way to a transport',
    { url: undefined, drivers: undefined },
    /url and drivers, or a function createTransport/,
  ],
  [
    'a promise of a transport without features',
    { createTransport: async () => createTransport(url) },
    /features must be given/,
  ],
  ['a manifest with a gap', { features: { undeliverable: true } }, /must state the feature expiry/],
  ['a limit that is none', { drivers: [modest({ maxMessageBytes: 0 })] }, /maxMessageBytes must be a number/],
  ['a stress of zero', { stress: 0 }, /stress must be a whole number of at least 1, not 0/],
  ['a stress that is no number', { stress: NaN }, /stress must be a whole number/],
  ['an unsteadiness that is neither true nor false', { unsteady: 'yes' }, /unsteady must be true or false/],
  ['a wait that is too short', { waitMs: 5 }, /waitMs must be a whole number of at least 100/],
];

describe('driverSuite', () => {
  for (const [what, changes, text] of REFUSED) {
    it(`refuses ${what} (CORE-09)`, () => {
      expect(() => {
        driverSuite(given(changes));
      })
        .to.throw(text)
        .with.property('code', 'ERR_CONFIGURATION');
    });
  }

  it('registers every test, with the ids of what it proves in its title, each title once (style rule 22)', () => {
    const tests = registered({});
    const titles = tests.map(({ group, title }) => `${group}: ${title}`);
    expect(tests.length).to.be.greaterThan(90);
    expect(new Set(titles).size).to.equal(titles.length);
    for (const { title } of tests)
      expect(title).to.match(/\((?:[A-Z]+-\d+|decision \d+|style rule \d+)[^()]*\)( \[skipped: .*\])?$/);
  });

  it('skips only what the manifest denies, and says so (style rule 22)', () => {
    const ready = registered({}).filter(({ skipped }) => !skipped);
    const tests = registered({ drivers: [modest({ expiry: false })] }).filter(({ skipped }) => !skipped);
    const skipped = registered({ drivers: [modest({ expiry: false })] }).filter(({ title }) =>
      title.includes('expiry: false'),
    );
    expect(skipped).to.have.lengthOf.at.least(3);
    expect(tests.length + skipped.length).to.equal(ready.length);
    expect(
      skipped.every(
        (test) => test.skipped && test.title.endsWith('[skipped: the driver states expiry: false]'),
      ),
    ).to.be.true;
  });

  it('prints why there are no faults, with each test that needs some (style rule 22)', () => {
    const tests = registered({ faults: 'none', noFaultsBecause: 'the broker is not ours' });
    const skipped = tests.filter(({ title }) =>
      title.endsWith('[skipped: no faults, the broker is not ours]'),
    );
    expect(skipped).to.have.lengthOf.at.least(20);
    expect(tests.filter(({ group, skipped: out }) => group === 'reconnect' && !out)).to.deep.equal([]);
  });

  it('skips for a fault that the author does not have only what needs that one (style rule 22)', () => {
    const { cut, restore } = faults;
    const skipped = registered({ faults: { cut, restore } }).filter(({ title }) =>
      title.includes('[skipped: the faults'),
    );
    expect(skipped.some(({ title }) => title.endsWith('have no stall()]'))).to.be.true;
    expect(skipped.some(({ title }) => title.endsWith('have no cancelConsumers()]'))).to.be.true;
    expect(skipped.length).to.be.lessThan(10);
  });

  it('asks nothing of a driver that its manifest denies (style rule 22)', async () => {
    const least = {
      undeliverable: false,
      expiry: false,
      release: false,
      redelivered: false,
      fanout: false,
      notifications: false,
      ordered: false,
      isolatedNames: false,
    };
    expect((await failuresOf(modest(least), undefined, 2000)).join('\n')).to.equal('');
  }).timeout(20_000);

  it('finds a manifest that is not the one the suite was told (style rule 22)', async () => {
    const features = createTransport(url).features;
    const { tests, ...runner } = collector();
    driverSuite(given({ ...runner, features: { ...features, ordered: false } }));
    const check = tests.find(({ title }) => title.startsWith('the features of the driver are those'));
    const outcome = await check?.run().catch((error: unknown) => error);
    expect(outcome)
      .to.be.instanceOf(Error)
      .with.property('message')
      .that.matches(/ordered/);
  });

  it('runs each test so often at the same time as stress says, and each in a place of its own (style rule 22)', async () => {
    let open = 0;
    let most = 0;
    const { tests, ...runner } = collector();
    const counted: DriverSuiteOptions = {
      ...runner,
      faults,
      stress: 7,
      features: createTransport(url).features,
      createTransport: async (options) => {
        const transport = createTransport(url, options);
        open += 1;
        most = Math.max(most, open);
        transport.onClosing(() => (open -= 1));
        return transport;
      },
    };
    driverSuite(counted);
    await tests.find(({ title }) => title.startsWith('a message for a topic reaches the server'))?.run();
    expect({ most, open }).to.deep.equal({ most: 14, open: 0 });
  });
});

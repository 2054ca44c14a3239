import { ConfigurationError } from '@ebbgate/core';
import { budgetsFromConfig, checkBudgets, type DrainBudgetsConfig, Service } from '@ebbgate/service';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { fakeParts } from './fakes.js';

describe('drain budgets', () => {
  it('default to 160 s for tasks, 10 s for clean-up, 5 s for closing, 180 s in all (GS-81, GS-83)', () => {
    expect(checkBudgets()).to.deep.equal({
      managerShutdownTimeoutMs: 160_000,
      cleanupTimeoutMs: 10_000,
      closingTimeoutMs: 5_000,
      gracefulShutdownTimeoutMs: 180_000,
    });
    expect(budgetsFromConfig({})).to.deep.equal(checkBudgets());
  });

  it('can be set for each service (GS-79, GS-82, GS-83)', () => {
    const parts = fakeParts();
    const long = new Service({
      ...parts,
      budgets: { managerShutdownTimeoutMs: 500, gracefulShutdownTimeoutMs: 30_000 },
    });
    const short = new Service({ ...parts, budgets: { managerShutdownTimeoutMs: 100 } });
    expect(long.budgets.managerShutdownTimeoutMs).to.equal(500);
    expect(long.budgets.gracefulShutdownTimeoutMs).to.equal(30_000);
    expect(short.budgets.managerShutdownTimeoutMs).to.equal(100);
    expect(short.budgets.gracefulShutdownTimeoutMs).to.equal(180_000);
  });

  const misfits: [string, DrainBudgetsConfig, string][] = [
    ['above', { manager_shutdown_timeout: 170 }, '170 + cleanup_timeout 10 + closing_timeout 5 = 185 s'],
    ['equal', { manager_shutdown_timeout: 165 }, '165 + cleanup_timeout 10 + closing_timeout 5 = 180 s'],
    [
      'above by the overall limit',
      { graceful_shutdown_timeout: 60 },
      '160 + cleanup_timeout 10 + closing_timeout 5 = 175 s',
    ],
    [
      'equal without waiting for tasks',
      { manager_shutdown_timeout: 0, graceful_shutdown_timeout: 15 },
      '0 + cleanup_timeout 10',
    ],
  ];
  for (const [how, config, sum] of misfits) {
    it(`are refused with the arithmetic when the sum is ${how} the overall limit (GS-70, COMP-03)`, () => {
      const overall = config.graceful_shutdown_timeout ?? 180;
      expect(() => budgetsFromConfig(config))
        .to.throw(ConfigurationError, sum)
        .with.property('message')
        .that.includes(`less than graceful_shutdown_timeout, which is ${overall} s`);
    });
  }

  it('that do not fit keep the service from being made (GS-70, COMP-03)', () => {
    const budgets = { managerShutdownTimeoutMs: 200_000 };
    expect(() => new Service({ ...fakeParts(), budgets })).to.throw(
      ConfigurationError,
      'managerShutdownTimeoutMs 200000 + cleanupTimeoutMs 10000 + closingTimeoutMs 5000 = 215000 ms must be less than',
    );
  });

  it('fit whatever they are when there is no overall limit (GS-70, COMP-03)', () => {
    const budgets = budgetsFromConfig({ manager_shutdown_timeout: 5000, graceful_shutdown_timeout: 0 });
    expect(budgets.gracefulShutdownTimeoutMs).to.equal(0);
    expect(budgets.managerShutdownTimeoutMs).to.equal(5_000_000);
  });

  it('are read in seconds from configuration, also as text and with fractions (GS-82)', () => {
    const budgets = budgetsFromConfig({ manager_shutdown_timeout: ' 20.5 ', cleanup_timeout: 0.25 });
    expect(budgets.managerShutdownTimeoutMs).to.equal(20_500);
    expect(budgets.cleanupTimeoutMs).to.equal(250);
  });

  for (const wrong of [-1, NaN, Infinity, '', 'soon', '1e3', '0x10', null, true, [], 2_147_484]) {
    it(`refuse ${JSON.stringify(wrong)} for a time, naming it (COMP-03)`, () => {
      const config = { cleanup_timeout: wrong as number }; // what a configuration file may hold
      expect(() => budgetsFromConfig(config)).to.throw(
        ConfigurationError,
        /^cleanup_timeout must be a number of s/,
      );
    });
  }

  it('refuse text and unknown names in code (COMP-03)', () => {
    const text = { cleanupTimeoutMs: '10' as unknown as number }; // from a program without types
    expect(() => checkBudgets(text)).to.throw(ConfigurationError, 'not "10"');
    expect(() => checkBudgets({ cleanupTimeout: 10 } as object)).to.throw(
      ConfigurationError,
      '"cleanupTimeout"',
    );
    expect(() => budgetsFromConfig({ __proto__: null, constructor: 1 } as object)).to.throw(
      ConfigurationError,
      '"constructor"',
    );
  });

  it('are complete and frozen', () => {
    expect(Object.isFrozen(checkBudgets({ cleanupTimeoutMs: 1 }))).to.equal(true);
  });
});

import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import { describe, it, Runnable } from 'mocha';
import { stretchLimits } from '../../support/patience.js';

describe('patience with tests', () => {
  it('stretches the limits of tests and hooks, each once', () => {
    const runner = new EventEmitter();
    stretchLimits(runner, 3);
    for (const kind of ['test', 'hook']) {
      const runnable = new Runnable(kind);
      runnable.timeout(100);
      for (let times = 0; times < 2; times += 1) runner.emit(kind, runnable);
      expect(runnable.timeout(), kind).to.equal(300);
    }
  });
});

import { tmpdir } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { silentLogger, timers } from '@ebbgate/core';
import { expect } from 'chai';
import { afterEach, describe, it } from 'mocha';
import { runMainJob } from '#compute/main-job.js';
import { Interruption } from '#compute/main-job/interruption.js';
import type { JobEvent } from '#compute/main-job/job-events.js';
import { readJobOptions } from '#compute/main-job/job-options.js';
import { eventually } from '../../support/rigs/deadline.js';

describe('the end of the main job', function () {
  this.timeout(30_000);

  // In a process of its own all ends with it. Here nothing waits for its time-out, which is above 10 s.
  afterEach(() => eventually('the end of what was cut off', 5000, () => timers.size === 0));

  for (const moment of ['Live migration to', 'SIGTERM to']) {
    it(`is its last word, also when something of it goes on (${moment} …) (COMP-20)`, async () => {
      const abort = new AbortController();
      const told: JobEvent[] = [];
      const view = {
        show: (_atMs: number, event: JobEvent): void => {
          told.push(event);
          if (event.kind === 'note' && event.text.startsWith(moment)) abort.abort(new Interruption('SIGINT'));
        },
        end: () => undefined,
      };
      const wishes = { database: 'memory:', bootMs: '10', migrationMs: '500' };
      const options = readJobOptions(wishes);
      const parts = { view, logger: silentLogger, now: () => 0, temporaryFolder: tmpdir() };
      const end = await runMainJob(options, { ...parts, interrupted: abort.signal }).catch(
        (error: unknown) => error,
      );
      expect(end).to.be.instanceOf(Interruption);
      for (let turn = 0; turn < 200; turn += 1) await setImmediate(); // what was cut off has time to go on
      expect(told.at(-1)).to.deep.equal({ kind: 'note', text: 'Ended by SIGINT before there was a verdict' });
      const begun = told.filter((event) => event.kind === 'note' && event.text.startsWith('Starting'));
      expect(begun).to.deep.equal([]);
    });
  }
});

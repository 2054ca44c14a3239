import type { ServiceEvents } from '@ebbgate/service';
import { TypedEvents } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { reportDrain } from '#compute/compute/drain-reports.js';
import { onFakeClock } from '../../support/fake-clock.js';

describe('compute: reports of a drain', () => {
  it('follow its steps and tasks, once a second at most, and end with it; before that nobody listens to tasks (GS-6)', () =>
    onFakeClock(async (clock) => {
      const events = new TypedEvents<ServiceEvents>((error) => {
        throw error;
      });
      const service = {
        state: 'running' as 'running' | 'draining' | 'exited',
        events,
        reportNow: () => (reports += 1),
      };
      let reports = 0;
      reportDrain(service);
      expect(events.has('task')).to.equal(false);
      const move = (state: 'draining' | 'exited'): void => {
        events.emit('state', { previous: service.state, state });
        service.state = state;
      };
      move('draining');
      expect(events.has('task')).to.equal(true);
      const change = (): void => {
        events.emit('step', { phase: 'started', name: 'tasks' } as ServiceEvents['step']); // what it is does not matter
      };
      for (let times = 0; times < 5; times += 1) change();
      await clock.tickAsync(999);
      expect(reports).to.equal(0);
      await clock.tickAsync(1);
      expect(reports).to.equal(1);
      await clock.tickAsync(5000);
      expect(reports, 'when nothing changes').to.equal(1);
      change();
      move('exited');
      await clock.tickAsync(5000);
      expect(reports, 'after the end').to.equal(1);
    }));
});

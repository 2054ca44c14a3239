import type { ServiceEvents } from '@ebbgate/service';
import { TypedEvents } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { reportDrain } from '#compute/compute/drain-reports.js';

describe('compute: reports of a drain', () => {
  it('follow its steps and tasks, once a second at most, and end with it; before that nobody listens to tasks (GS-6)', () => {
    const events = new TypedEvents<ServiceEvents>((error) => {
      throw error;
    });
    let reports = 0;
    const service = {
      state: 'running' as 'running' | 'draining' | 'exited',
      events,
      reportNow: () => (reports += 1),
    };
    const waiting: [() => void, number][] = [];
    reportDrain(service, (work, ms) => waiting.push([work, ms]));
    expect(events.has('task')).to.equal(false);
    const move = (state: 'draining' | 'exited'): void => {
      events.emit('state', { previous: service.state, state });
      service.state = state;
    };
    const change = (): void => {
      events.emit('step', { phase: 'started', name: 'tasks' } as ServiceEvents['step']); // what it is does not matter
    };
    const second = (): void => {
      const [[work, ms] = [() => undefined, NaN], ...others] = waiting.splice(0);
      expect([ms, others]).to.deep.equal([1000, []]);
      work();
    };
    move('draining');
    expect(events.has('task')).to.equal(true);
    for (let times = 0; times < 5; times += 1) change();
    expect(reports).to.equal(0);
    second();
    expect([reports, waiting], 'when nothing changes').to.deep.equal([1, []]);
    change();
    move('exited');
    second();
    expect(reports, 'after the end').to.equal(1);
  });
});

import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { HostView, JobEvent } from '#compute/main-job/job-events.js';
import { LiveView } from '#compute/main-job/live-view.js';
import { PlainView } from '#compute/main-job/plain-view.js';

const ESCAPE = String.fromCharCode(27);

const host: HostView = {
  host: 'compute-a',
  run: 1,
  state: 'draining',
  newRequest: 'stopped',
  ops: 'up',
  tasks: [
    {
      id: 1,
      name: 'live_migration',
      kind: 'operation',
      subject: 'u',
      requestId: null,
      ageMs: 1000,
      progress: 0.5,
    },
    {
      id: 2,
      name: 'moves_from_here',
      kind: 'handler',
      subject: null,
      requestId: null,
      ageMs: 0,
      progress: null,
    },
  ],
};

const events: readonly JobEvent[] = [
  { kind: 'note', text: 'SIGTERM to compute-a' },
  { kind: 'instance', uuid: 'u', name: 'vm1', host: 'compute-a', vmState: 'active', taskState: 'migrating' },
  { kind: 'host', why: 'tasks', view: host },
  { kind: 'host', why: 'state', view: host },
  { kind: 'host', why: 'server', view: host },
  { kind: 'host', why: 'tasks', view: host },
  {
    kind: 'migration',
    uuid: 'm',
    name: 'vm1',
    status: 'running',
    source: 'compute-a',
    dest: 'compute-b',
    progress: 0.5,
  },
  {
    kind: 'request',
    host: 'compute-a',
    topic: 'compute-ops',
    method: 'external_instance_event',
    draining: true,
  },
  { kind: 'request', host: 'compute-b', topic: 'compute', method: 'get_host_uptime', draining: false },
  { kind: 'waiting', host: 'compute-a', topic: 'compute', method: 'build_and_run_instance' },
];

const verdict: JobEvent = {
  kind: 'verdict',
  holds: false,
  remark: 'So it is.',
  checks: [
    { what: 'One thing', holds: true, detail: '' },
    { what: 'Another', holds: false, detail: 'vm1 is error/null' },
  ],
};

describe('the views of the main job', () => {
  it('draw one picture on a terminal, within its size, and take it back before the next', () => {
    let text = '';
    const screen = { write: (piece: string): void => void (text += piece), columns: 72, rows: 20 };
    const view = new LiveView(screen, () => 2000);
    for (const event of events) view.show(1500, event);
    text = '';
    view.show(1600, { kind: 'note', text: 'go on' });
    const picture = text.slice(text.indexOf('go on'));
    expect(text).to.match(new RegExp(`^${ESCAPE}\\[\\d+A${ESCAPE}\\[J`));
    expect(picture).to.contain('compute-a  draining  compute STOPPED     compute-ops serves');
    expect(picture).to.contain('task: live_migration vm1 (1.50 s)');
    expect(picture).to.not.contain('moves_from_here'); // it is over in a moment
    expect(picture).to.contain('[############------------]  50 %');
    expect(picture).to.contain('external_instance_event arrives on compute-ops.compute-a');
    expect(picture).to.contain('build_and_run_instance waits in compute.compute-a');
    expect(picture).to.not.contain('get_host_uptime');
    for (const line of picture.split('\n')) expect(line.length).to.be.below(72);
    text = '';
    view.show(1700, verdict);
    view.end();
    expect(text)
      .to.contain('✓ One thing')
      .and.contain('✗ Another: vm1 is error/null')
      .and.contain('So it is.');
  });

  it('break long lines at blanks, and colour only terminals that have colours', () => {
    let text = '';
    const write = (piece: string): void => void (text += piece);
    const long: JobEvent = {
      kind: 'note',
      text: `Recorded requests: ${'live_migration 6.0, '.repeat(5)}and so on`,
    };
    for (const hasColors of [false, true]) {
      text = '';
      const view = new LiveView({ write, columns: 60, rows: 20, hasColors: () => hasColors }, () => 2000);
      for (const event of [...events, long, verdict]) view.show(1500, event);
      view.end();
      // eslint-disable-next-line no-control-regex -- control sequences are what this is about
      const lines = text.replaceAll(/\u001b\[[0-9]*[a-zA-Z]/g, '').split('\n');
      for (const line of lines) expect(line.length, line).to.be.below(60);
      expect(lines).to.include('          live_migration 6.0, live_migration 6.0, and so on');
      expect(text.includes(`${ESCAPE}[33mSTOPPED${ESCAPE}[0m`)).to.equal(hasColors);
      expect(text.includes(`${ESCAPE}[31m`)).to.equal(hasColors);
    }
  });

  it('print plain lines elsewhere, that a host drains before its tasks, and nothing twice', () => {
    let text = '';
    const view = new PlainView((piece) => (text += piece));
    for (const event of [...events, ...events.slice(1, 3), ...events.slice(4, 7), verdict])
      view.show(1500, event);
    view.end();
    expect(text.trimEnd().split('\n')).to.deep.equal([
      '  1.50 s  SIGTERM to compute-a',
      '  1.50 s  vm1: active/migrating at compute-a',
      '  1.50 s  compute-a: drains',
      '  1.50 s  compute-a: 1 task left: live_migration vm1 (1.00 s, 50 %)',
      '  1.50 s  compute-a: new-request compute.compute-a STOPPED, ops compute-ops.compute-a serves',
      '  1.50 s  vm1: migration compute-a -> compute-b running, 40 % copied',
      '  1.50 s  compute-a: external_instance_event arrives on compute-ops.compute-a',
      '  1.50 s  compute-a: build_and_run_instance waits in the queue compute.compute-a: its server has stopped',
      '  1.50 s  compute-a: new-request compute.compute-a STOPPED, ops compute-ops.compute-a serves',
      '',
      'Verdict',
      '  ✓ One thing',
      '  ✗ Another: vm1 is error/null',
      '',
      'The invariants do NOT hold. So it is.',
    ]);
  });
});

import { expect } from 'chai';
import { describe, it } from 'mocha';
import { DaemonProcess } from '../support/daemon-process.js';
import { freePort } from '../support/rigs/free-port.js';

const ARGV = [
  '--hosts',
  'host1,host2',
  '--listen',
  '127.0.0.1:0',
  '--control',
  'none',
  '--database',
  'memory:',
];
const BEGAN = /^Service (\S+) drains: /;
const ENDED = /^Service (\S+) has drained$/;

const SHOWN = [
  'ebbgate_services{binary="nova-compute",state="up"} 2',
  'ebbgate_service_state{service="compute",host="host1",state="running"} 1',
  'ebbgate_service_state{service="api",host="api-1",state="running"} 1',
  'ebbgate_rpc_requests_total{method="capacity_report",kind="call",outcome="ok"} 2',
  'ebbgate_unsent_messages 0',
];

/** Where the drain of each part began and ended, in order. */
function drainsIn(log: string): readonly string[] {
  return log.split('\n').flatMap((line) => {
    if (!line.startsWith('{')) return [];
    const { msg = '' } = JSON.parse(line) as { readonly msg?: string }; // as pino writes it
    const [began, ended] = [BEGAN.exec(msg)?.[1], ENDED.exec(msg)?.[1]];
    return [
      ...(began === undefined ? [] : [`${began} drains`]),
      ...(ended === undefined ? [] : [`${ended} ended`]),
    ];
  });
}

describe('all-in-one in memory', function () {
  this.timeout(60_000);

  it('drains on TERM the computes first, conductor and scheduler after them, the API last; one health port tells of all (GS-1)', async () => {
    const port = await freePort();
    const argv = ['all-in-one', ...ARGV, '--health', String(port)];
    const cloud = new DaemonProcess('', argv, { logLevel: 'info' });
    const at = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${port}${path}`);
    try {
      await cloud.event(({ kind }) => kind === 'serves');
      expect(cloud.events.some(({ kind }) => kind === 'listens')).to.equal(true);
      expect((await at('/readyz')).status).to.equal(200);
      const metrics = await (await at('/metrics')).text();
      for (const line of SHOWN) expect(metrics).to.contain(`${line}\n`);
      cloud.child.kill('SIGTERM');
      expect(await cloud.ended).to.deep.equal({ code: 0, signal: null });
    } finally {
      cloud.child.kill('SIGKILL');
      await cloud.ended;
    }
    const drains = drainsIn(cloud.log);
    expect(drains.slice(0, 4)).to.have.members([
      'compute drains',
      'compute drains',
      'compute ended',
      'compute ended',
    ]);
    expect(drains.slice(4)).to.deep.equal([
      'conductor drains',
      'conductor ended',
      'scheduler drains',
      'scheduler ended',
      'api drains',
      'api ended',
    ]);
    const exits = cloud.events.flatMap((event) =>
      event.kind === 'exit' ? [`${event.host} ${event.code}`] : [],
    );
    expect(exits.sort()).to.deep.equal(['host1 0', 'host2 0']);
  });
});

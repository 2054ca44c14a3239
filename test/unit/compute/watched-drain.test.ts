import { Liveness, MemoryRecords, type ServiceReport } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { drainLines, watchDrain } from '#compute/operator/watch-drain.js';

const HOST = 'compute-a';
const DRAIN = { reason: 'SIGTERM', step: 'tasks', budgetLeftMs: 100_000, taskCount: 0, tasks: [] };

/** Reports of a host, each of which comes when the one before it has been looked at; the last one stays. */
async function watched(
  reports: readonly (Pick<ServiceReport, 'state' | 'drain'> & { readonly agoMs?: number })[],
): Promise<{ readonly end: string | undefined; readonly said: readonly string[] }> {
  const records = new MemoryRecords((error) => {
    throw error;
  });
  const { services } = records;
  const get = services.get.bind(services);
  const left = [...reports];
  services.get = async (binary, host) => {
    const next = left.shift();
    if (next) {
      const { state, drain = null, agoMs = 0 } = next;
      const reportedAtMs = Date.now() - agoMs;
      await services.register({ binary, host, topic: binary, version: 1, state, drain, reportedAtMs });
    }
    return get(binary, host);
  };
  const said: string[] = [];
  const out = (text: string): void => void said.push(text.trimEnd());
  const terminal = { out, err: out, screen: undefined, signal: new AbortController().signal };
  const end = await watchDrain({ records, liveness: new Liveness() }, HOST, terminal, false);
  return { end, said };
}

describe('a drain that an operator watches', () => {
  it('ends with nothing more to say when the host has ended and left nothing', async () => {
    const { end, said } = await watched([
      { state: 'draining', drain: DRAIN },
      { state: 'exited', drain: null },
    ]);
    expect([end, said]).to.deep.equal([
      undefined,
      [`${HOST} drains (SIGTERM): tasks, 0 tasks, 100 s left`, `${HOST} has ended`],
    ]);
  });

  it('ends when the host has died: it has not reported for too long, whatever its last report says', async () => {
    const { end } = await watched([{ state: 'draining', agoMs: 61_000, drain: DRAIN }]);
    expect(end).to.match(
      /^compute-a has not reported for 6\d s: its process has died, or does not reach the cloud$/,
    );
  });

  it('says that the host was started again when its end was not seen', async () => {
    const { end, said } = await watched([
      { state: 'draining', drain: DRAIN },
      { state: 'starting', drain: null },
    ]);
    expect(end).to.equal(
      `${HOST} was started again before its end was seen: the log of its last run says how that was`,
    );
    expect(said.at(-1)).to.equal(`${HOST} is starting`);
  });

  it('shows on a screen for how long the host was not heard of, once that is long', () => {
    const view = { host: HOST, state: 'draining', drain: DRAIN, instances: new Map(), moves: new Map() };
    expect([14_000, 20_000].map((toldMs) => drainLines({ ...view, toldMs }))).to.deep.equal([
      [`${HOST} drains (SIGTERM): tasks, 0 tasks, 86 s left`],
      [`${HOST} drains (SIGTERM): tasks, 0 tasks, 80 s left, not heard of for 20 s`],
    ]);
  });
});

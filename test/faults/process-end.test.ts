import { join } from 'node:path';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { CapturedLog } from '../support/captured-log.js';
import { TestProcess } from '../support/processes.js';
import { eventually } from '../support/rigs/deadline.js';
import { PeerBed } from './peer-bed.js';

const SCRIPT = join(import.meta.dirname, '../fixtures/processes/rabbit-closer.js');
const STATES = [
  'never connected',
  'refused',
  'connecting',
  'logging in',
  'declaring',
  'connected',
  'blocked',
  'lost',
];
const WAIT_MS = 5_000;

describe('what outlives the RabbitMQ driver', function () {
  this.timeout(30_000);

  it('is nothing: a program whose transports were closed, in whatever state, exits by itself (CORE-05, AMQP-41)', async () => {
    const child = new TestProcess(SCRIPT);
    const { code, signal } = await child.ended;
    expect([code, signal, child.stderr]).to.deep.equal([0, null, '']);
    const told = child.lines
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { state: string; tookMs: number }); // the process writes nothing else
    expect(told.map(({ state }) => state)).to.deep.equal([...STATES, 'exit']);
    expect(told.at(-1)?.tookMs).to.be.below(2_000);
    for (const { state, tookMs } of told) expect(tookMs, state).to.be.below(7_000);
  });
});

describe('a hook that fails', function () {
  this.timeout(15_000);
  let bed: PeerBed;

  beforeEach(async () => {
    bed = await PeerBed.start();
  });

  afterEach(() => bed.end());

  it('is reported once each time, whether it throws or rejects, and a drain goes on as without it (AMQP-06)', async () => {
    const log = new CapturedLog();
    const transport = await bed.connected(bed.peer.url(), {}, { logger: log });
    let failed = 0;
    const fail = (): never => {
      failed += 1;
      throw new Error('hook 4711');
    };
    const reject = (() => Promise.resolve().then(fail)) as () => void; // as a caller without types may
    transport.events.on('connection', fail);
    transport.events.on('connection', reject);
    transport.events.on('listener', fail);
    const reports = (): number => log.ordinaryText().match(/Error: hook 4711/g)?.length ?? 0;
    const server = await bed.serve(transport, bed.where, { m: () => 1 });
    for (const connection of bed.peer.connections) connection.closeConnection(541, 'INTERNAL_ERROR');
    await eventually('the loss', WAIT_MS, () => failed > 3);
    await eventually('the return', WAIT_MS, () => {
      const { connection, listeners } = transport.status();
      return connection === 'connected' && listeners[0]?.subscribed === true;
    });
    await server.stop();
    expect((await server.wait()).unconfirmed).to.deep.equal([]);
    await transport.close();
    await eventually('all reports', WAIT_MS, () => reports() >= failed);
    expect(reports()).to.equal(failed);
  });
});

import { Deadline } from '@ebbgate/core';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { textMessage } from '#testkit/test-message.js';
import { eventually } from '../support/rigs/deadline.js';
import { send, source, toTopic } from './bed.js';
import { RedisBed } from './redis-bed.js';

const WAIT_MS = 20_000;
const HOUR_S = 3_600;

describe('a clock of Redis that is set', function () {
  this.timeout(60_000);
  let bed: RedisBed;

  beforeEach(async () => {
    bed = await RedisBed.start();
  });

  afterEach(() => bed.end());

  for (const [way, seconds] of [
    ['forward', HOUR_S],
    ['back', -HOUR_S],
  ] as const) {
    it(`${way} is followed by those that are connected: deadlines are those of the store at the next heartbeat (RPC-02, REDIS-13)`, async () => {
      const where = source();
      const peer = await bed.peer();
      const transport = await bed.connected(peer.url(), { heartbeat: 0.1 });
      const { listener } = await bed.listen(transport, where);
      await listener.close();
      const list = ((await bed.view.keys()).find((key) => key.endsWith(':declared')) ?? '').replace(
        /declared$/,
        'topic',
      );
      peer.script('TIME', async (command) => {
        const [now, micros] = (await bed.server.ask('TIME')) as [string, string]; // its documented form
        command.answer([String(Number(now) + seconds), micros]);
      });
      await eventually('deadlines by the new time', WAIT_MS, async () => {
        await send(transport, toTopic(where), textMessage('x', { deadline: Deadline.after(30_000) }));
        const [entry] = (await bed.server.ask('LRANGE', list, -1, -1)) as [string];
        const [now] = (await bed.server.ask('TIME')) as [string, string];
        const leftS = Number(/^\d+/.exec(entry)?.[0]) / 1000 - Number(now);
        return Math.abs(leftS - seconds) < HOUR_S / 2;
      });
      expect(transport.status().connection).to.equal('connected');
    });
  }

  it('may be asked by nobody any more, and the connection stays (REDIS-08, AMQP-18)', async () => {
    const peer = await bed.peer();
    const transport = await bed.connected(peer.url(), { heartbeat: 0.1 });
    const before = peer.received('TIME').length;
    peer.script('TIME', (command) =>
      command.fail("NOPERM this user has no permissions to run the 'time' command"),
    );
    await eventually('several refusals', WAIT_MS, () => peer.received('TIME').length > before + 3);
    expect(transport.status().connection).to.equal('connected');
  });
});

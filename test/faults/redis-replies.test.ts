import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { textOf } from '#testkit/test-message.js';
import { eventually } from '../support/rigs/deadline.js';
import { send } from './bed.js';
import { RedisBed } from './redis-bed.js';

const WAIT_MS = 20_000;
describe('replies, with Redis after a fail-over', function () {
  this.timeout(60_000);
  let bed: RedisBed;

  beforeEach(async () => {
    bed = await RedisBed.start();
  });

  afterEach(() => bed.end());

  it('arrive from a master that lacks what was read last (REDIS-10, AMQP-35)', async () => {
    const texts: string[] = [];
    const transport = await bed.connected(bed.url);
    const { address } = await transport.openReplyQueue((message) => void texts.push(textOf(message)));
    const [list, state] = [`ebbgate:{${address}}:replies`, `ebbgate:{${address}}:state`];
    const other = await bed.connected(bed.direct);
    await send(other, { kind: 'reply', address }, 'of the old master');
    await eventually('the reply', WAIT_MS, () => texts.length === 1);
    await eventually('its removal', WAIT_MS, async () => Number(await bed.server.ask('LLEN', list)) === 0);
    await bed.lose(transport, async () => {
      await bed.proxy.setDoorman('refuse');
      bed.proxy.cut();
    });
    await bed.server.ask('HSET', state, 'removed', '0'); // it has not heard of the first one, nor of its removal
    await send(other, { kind: 'reply', address }, 'before it was connected again');
    await bed.proxy.heal();
    await eventually('the reply of meanwhile', WAIT_MS, () => texts.length === 2);
    await send(other, { kind: 'reply', address }, 'after that');
    await eventually('the reply after that', WAIT_MS, () => texts.length === 3);
    expect(texts).to.deep.equal(['of the old master', 'before it was connected again', 'after that']);
    await eventually(
      'nothing is left',
      WAIT_MS,
      async () => Number(await bed.server.ask('LLEN', list)) === 0,
    );
  });
});

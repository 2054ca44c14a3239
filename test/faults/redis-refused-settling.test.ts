import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { eventually } from '../support/rigs/deadline.js';
import { fresh, send, source, toTopic } from './bed.js';
import { RedisBed, SHORT_LEASE } from './redis-bed.js';

const WAIT_MS = 20_000;

describe('settling that Redis refuses', function () {
  this.timeout(60_000);
  let bed: RedisBed;

  beforeEach(async () => {
    bed = await RedisBed.start();
  });

  afterEach(() => bed.end());

  for (const acceptance of ['written', 'confirmed'] as const) {
    it(`is told and asked for again, so that what was accepted never runs again (${acceptance}; REDIS-02, AMQP-29, AMQP-20)`, async () => {
      const where = source();
      // A read would wait for ten minutes: it is not what hears of the refusal.
      const transport = await bed.connected(bed.direct, { acceptance, heartbeat: 600, lease: 3600 });
      const heard = await bed.listen(transport, where, false);
      await send(transport, toTopic(where), 'once');
      await eventually('the message', WAIT_MS, () => heard.deliveries.length === 1);
      // As when the disk of the store is full (MISCONF), or its replica restarts.
      await bed.server.ask('CONFIG', 'SET', 'min-replicas-to-write', '1');
      try {
        const accepted = heard.deliveries[0]?.accept();
        await eventually('the refusal', WAIT_MS, () => bed.log.ordinaryText().includes('NOREPLICAS'));
        await bed.server.ask('CONFIG', 'SET', 'min-replicas-to-write', '0');
        expect(await accepted).to.equal(true);
      } finally {
        await bed.server.ask('CONFIG', 'SET', 'min-replicas-to-write', '0');
      }
      await eventually('its end in the store', WAIT_MS, async () => (await bed.view.allEntries()) === 0);
      await bed.whole(transport);
      await send(transport, toTopic(where), 'next');
      await eventually('the next', WAIT_MS, () => heard.texts.includes('next'));
      expect(await heard.deliveries.at(-1)?.accept()).to.equal(true);
      expect(await heard.listener.close()).to.deep.equal([]);
      expect(heard.texts).to.deep.equal(['once', 'next']);
    });
  }

  it('of a lease, too, is told, and heard again when it may be (REDIS-02, AMQP-18, AMQP-36)', async () => {
    const where = source();
    const user = fresh('user');
    await bed.server.ask('ACL', 'SETUSER', user, 'on', '>word', '~*', '&*', '+@all');
    try {
      const limited = await bed.connected(bed.direct.replace('//', `//${user}:word@`), SHORT_LEASE);
      const heard = await bed.listen(limited, where);
      await bed.server.ask('ACL', 'SETUSER', user, '-zadd');
      await eventually('the end of it', WAIT_MS, () => !limited.status().listeners[0]?.subscribed);
      expect(limited.status().connection).to.equal('connected');
      await bed.server.ask('ACL', 'SETUSER', user, '+zadd');
      await bed.whole(limited);
      await send(limited, toTopic(where), 'heard');
      await eventually('the message', WAIT_MS, () => heard.texts.includes('heard'));
      await limited.close();
    } finally {
      await bed.server.ask('ACL', 'DELUSER', user);
    }
  });
});

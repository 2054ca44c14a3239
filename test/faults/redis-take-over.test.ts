import { Deadline, type ServerSource } from '@ebbgate/core';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { textMessage } from '#testkit/test-message.js';
import { eventually } from '../support/rigs/deadline.js';
import { send, source, toServer, toTopic } from './bed.js';
import { RedisBed, SHORT_LEASE } from './redis-bed.js';

const WAIT_MS = 20_000;
/** More than one script gives back. */
const DEAD = 25;

describe('what goes back in Redis', function () {
  this.timeout(60_000);
  let bed: RedisBed;
  let where: ServerSource;

  beforeEach(async () => {
    bed = await RedisBed.start();
    where = source();
  });

  afterEach(() => bed.end());

  /** As when the processes behind the proxy are killed; resolves when all leases are over. */
  async function die(): Promise<void> {
    await bed.proxy.setDoorman('refuse');
    bed.proxy.cut();
    const leases = (await bed.view.keys()).find((key) => key.endsWith(':leases')) ?? '';
    await eventually('the end of all leases', WAIT_MS, async () => {
      const [seconds] = (await bed.server.ask('TIME')) as [string, string]; // its documented form
      return (await bed.server.ask('ZCOUNT', leases, `${seconds}000`, '+inf')) === 0;
    });
  }

  it('of many servers that died together is taken over at once by the first that comes (REDIS-03)', async () => {
    const dying = await bed.connected(bed.url, SHORT_LEASE);
    const living = await bed.connected(bed.direct, { lease: 3600 }); // it renews three times an hour
    for (let n = 0; n < DEAD; n += 1)
      await bed.listen(dying, { ...where, server: `${where.server}-${String(n)}` }, false, 1);
    for (let n = 0; n < DEAD; n += 1) await send(living, toTopic(where), String(n));
    await eventually('all of it', WAIT_MS, async () => (await bed.view.pending()) === DEAD);
    await die();
    const heir = await bed.listen(living, where, true, DEAD);
    await eventually('all of it', WAIT_MS, () => heir.texts.length === DEAD);
    expect(heir.deliveries.every(({ redelivered }) => redelivered)).to.equal(true);
    expect(await bed.view.consumers()).to.equal(1);
  });

  it('and has expired meanwhile does not stay, though its server never comes again (REDIS-13, REDIS-03)', async () => {
    const dying = await bed.connected(bed.url, SHORT_LEASE);
    const heard = await bed.listen(dying, where, false, 2);
    const living = await bed.connected(bed.direct);
    const late = textMessage('expires', { deadline: Deadline.after(300) });
    await send(living, toServer(where), late);
    await send(living, toServer(where), 'waits');
    await eventually('both', WAIT_MS, () => heard.deliveries.length === 2);
    await living.close(); // so that its sender does not look for it
    await die();
    await bed.listen(await bed.connected(bed.direct), { ...where, server: `${where.server}-2` });
    await eventually('what it held to go', WAIT_MS, async () => (await bed.view.pending()) === 0);
    expect(await bed.view.allEntries()).to.equal(1);
  });

  it('before it expires is removed by its sender afterwards (REDIS-13)', async () => {
    const transport = await bed.connected(bed.direct);
    const heard = await bed.listen(transport, where, false);
    const deadline = Deadline.after(1_000);
    await send(transport, toServer(where), textMessage('x', { deadline }));
    await eventually('the message', WAIT_MS, () => heard.deliveries.length === 1);
    expect(await heard.listener.close()).to.deep.equal([]);
    await eventually('its end in the store', WAIT_MS, async () => (await bed.view.allEntries()) === 0);
    expect(deadline.expired).to.equal(true);
  });
});

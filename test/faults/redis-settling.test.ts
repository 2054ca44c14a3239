import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { textMessage } from '#testkit/test-message.js';
import { deferred } from '../support/deferred.js';
import { eventually } from '../support/rigs/deadline.js';
import { failure, send, source, toFanout, toServer, toTopic } from './bed.js';
import { LEASE_MS, RedisBed, SHORT_LEASE } from './redis-bed.js';

const WAIT_MS = 20_000;

describe('messages in Redis', function () {
  this.timeout(60_000);
  let bed: RedisBed;

  beforeEach(async () => {
    bed = await RedisBed.start();
  });

  afterEach(() => bed.end());

  it('that a read still brings while its server stops are run or given back: none is lost, none stays locked (REDIS-01, AMQP-39, AMQP-38)', async () => {
    for (let round = 0; round < 15; round += 1) {
      const where = source();
      const transport = await bed.connected(bed.direct);
      const sender = await bed.connected(bed.direct);
      const ran: string[] = [];
      const note = (_context: unknown, { text }: { text: string }): void => void ran.push(text);
      const server = await bed.serve(transport, where, { note }, { slots: 2, prefetch: 2 });
      const client = bed.client(sender, where);
      const texts = Array.from({ length: 30 }, (_none, n) => String(n));
      const sends = texts.map((text) => client.cast({}, 'note', { text }));
      const stopped = sends[round]?.then(() => server.stop()) ?? server.stop();
      await Promise.all([...sends, stopped]);
      expect((await server.wait()).unconfirmed).to.deep.equal([]);
      expect(await bed.view.pending(), `round ${String(round)}`).to.equal(0);
      await server.start();
      await eventually('the rest', WAIT_MS, () => ran.length === texts.length);
      expect(ran.toSorted()).to.deep.equal(texts.toSorted());
      await server.stop();
      await server.wait();
      await transport.close();
      await sender.close();
    }
  });

  it('that were fetched and have no slot go back at once when a server is told to release them (AMQP-39, REDIS-01)', async () => {
    const where = source();
    const [hold, entered] = [deferred(), deferred()];
    const ran: string[] = [];
    const endpoint = (server: string, until: Promise<void>) => ({
      note: async (_context: unknown, { text }: { text: string }): Promise<void> => {
        ran.push(`${server} ${text}`);
        entered.resolve();
        await until;
      },
    });
    const options = { slots: 1, prefetch: 5, fetched: 'release' } as const;
    const first = await bed.serve(
      await bed.connected(bed.direct),
      where,
      endpoint('first', hold.promise),
      options,
    );
    const client = bed.client(await bed.connected(bed.direct), where);
    for (const text of ['1', '2', '3']) await client.cast({}, 'note', { text });
    await entered.promise;
    await first.stop();
    const other = { ...where, server: `${where.server}-2` };
    await bed.serve(await bed.connected(bed.direct), other, endpoint('second', Promise.resolve()));
    await eventually('the others', WAIT_MS, () => ran.length === 3);
    hold.resolve();
    expect((await first.wait()).unconfirmed).to.deep.equal([]);
    expect(ran.toSorted()).to.deep.equal(['first 1', 'second 2', 'second 3']);
    expect(await bed.view.allEntries()).to.equal(0);
  });

  it('are no longer fetched once stop has resolved, and wait or go to a sibling (AMQP-38, AMQP-23, REDIS-07)', async () => {
    const where = source();
    // A read would wait for ten minutes, if it were not ended.
    const transport = await bed.connected(bed.direct, { heartbeat: 600, lease: 3600 });
    const sender = await bed.connected(bed.direct);
    const heard = await bed.listen(transport, where);
    await eventually('a read that waits', WAIT_MS, async () =>
      (await bed.view.clients()).some(({ cmd, blocked }) => cmd === 'blpop' && blocked),
    );
    await heard.listener.stop();
    await send(sender, toServer(where), 'kept');
    const sibling = await bed.listen(transport, { ...where, server: `${where.server}-2` });
    await send(sender, toTopic(where), 'for the sibling');
    await send(sender, toFanout(where), 'all');
    await eventually('the sibling', WAIT_MS, () => sibling.texts.length === 2);
    expect(heard.texts).to.deep.equal([]);
    expect(await heard.listener.close()).to.deep.equal([]); // the read had come to its end
    const again = await bed.listen(transport, where);
    await eventually('what was kept', WAIT_MS, () => again.texts.length === 1);
    expect(again.texts).to.deep.equal(['kept']);
  });

  it('from before the first server of their topic are delivered to it, as long as they have not expired (REDIS-06, REDIS-13)', async () => {
    const where = source();
    const first = await bed.connected(bed.direct);
    const declared = await bed.listen(first, where);
    await declared.listener.close();
    const sender = await bed.connected(bed.direct);
    const client = bed.client(sender, where);
    expect(
      (await failure(client.prepare({ timeoutMs: 200 }).call({}, 'note', { text: 'expired' }))).code,
    ).to.equal('ERR_TIMEOUT');
    // Nobody reads there: it is the store, at the instance of the sender, that drops it.
    await eventually('its end in the store', WAIT_MS, async () => (await bed.view.allEntries()) === 0);
    await client.cast({}, 'note', { text: 'waits' });
    expect(
      (await failure(client.prepare({ timeoutMs: 100 }).call({}, 'note', { text: 'expired' }))).code,
    ).to.equal('ERR_TIMEOUT');
    const ran: string[] = [];
    await bed.serve(await bed.connected(bed.direct), where, {
      note: (_context: unknown, { text }: { text: string }) => void ran.push(text),
    });
    await eventually('what waited', WAIT_MS, () => ran.length > 0);
    await client.call({}, 'note', { text: 'last' });
    expect(ran).to.deep.equal(['waits', 'last']);
    await eventually('an empty store', WAIT_MS, async () => (await bed.view.allEntries()) === 0);
  });

  it('are removed when they are taken, and not before: the store holds exactly what was not served (REDIS-04, AMQP-29)', async () => {
    const where = source();
    const transport = await bed.connected(bed.direct);
    const heard = await bed.listen(transport, where, false, 4);
    for (let n = 0; n < 10; n += 1) await send(transport, toTopic(where), String(n));
    await eventually('four', WAIT_MS, () => heard.deliveries.length === 4);
    expect(await bed.view.allEntries()).to.equal(10);
    expect(await heard.deliveries[0]?.accept()).to.equal(true);
    heard.deliveries[1]?.reject();
    heard.deliveries[2]?.release();
    await eventually('eight left', WAIT_MS, async () => (await bed.view.allEntries()) === 8);
    await heard.listener.close();
    expect(await bed.view.pending()).to.equal(0);
    expect(await bed.view.allEntries()).to.equal(8);
    const rest = await bed.listen(transport, where);
    await eventually('the eight', WAIT_MS, () => rest.texts.length === 8);
    expect(rest.texts.map(Number).sort()).to.deep.equal([2, 3, 4, 5, 6, 7, 8, 9]);
    await eventually('an empty store', WAIT_MS, async () => (await bed.view.allEntries()) === 0);
  });

  it('whose body is not ours are refused once, counted, and never come again (AMQP-30, AMQP-28, AMQP-29)', async () => {
    const where = source();
    const transport = await bed.connected(bed.direct);
    const server = await bed.serve(transport, where, { ping: () => 'pong' }, { slots: 1, prefetch: 1 });
    const bodies = ['no JSON, content-4711', '[]', '{"oslo.version":"9.0","oslo.message":"{}"}', '{}'];
    for (const body of bodies) await send(transport, toTopic(where), textMessage(body));
    // What others may have written there: entries without our line.
    for (const list of await bed.view.queues()) await bed.server.ask('RPUSH', list, 'content-4711');
    await eventually('all to be refused', WAIT_MS, () => server.counts.malformed >= bodies.length);
    expect(await bed.client(transport, where).call({}, 'ping')).to.equal('pong');
    await eventually('an empty store', WAIT_MS, async () => (await bed.view.allEntries()) === 0);
    expect(await bed.view.pending()).to.equal(0);
    expect(bed.log.ordinaryText()).not.to.contain('content-4711');
  });

  it('of a request that always fails run once, and hold up no other (AMQP-28)', async () => {
    const where = source();
    let runs = 0;
    const bad = (): never => {
      runs += 1;
      throw new Error('always');
    };
    const transport = await bed.connected(bed.url);
    await bed.serve(transport, where, { bad, ping: () => 'pong' }, { slots: 1, prefetch: 5 });
    const client = bed.client(await bed.connected(bed.direct), where);
    await client.cast({}, 'bad');
    expect((await failure(client.call({}, 'bad'))).code).to.equal('ERR_REMOTE');
    await bed.lose(transport, () => bed.proxy.cut());
    await bed.whole(transport);
    expect(await client.call({}, 'ping')).to.equal('pong');
    expect(runs).to.equal(2);
    await eventually('an empty store', WAIT_MS, async () => (await bed.view.allEntries()) === 0);
  });

  it('that are held longer than a lease stay with their holder, who renews it (REDIS-02, AMQP-10)', async () => {
    const where = source();
    const holder = await bed.connected(bed.direct, SHORT_LEASE);
    const heard = await bed.listen(holder, where, false, 2);
    const sibling = await bed.listen(
      await bed.connected(bed.direct, SHORT_LEASE),
      { ...where, server: `${where.server}-2` },
      false,
      2,
    );
    for (const text of ['1', '2', '3', '4']) await send(holder, toTopic(where), text);
    await eventually('all', WAIT_MS, () => heard.texts.length + sibling.texts.length === 4);
    const begun = performance.now();
    await eventually(
      'so long that others would have them',
      WAIT_MS,
      () => performance.now() - begun > 3 * LEASE_MS,
    );
    expect([...heard.texts, ...sibling.texts].sort()).to.deep.equal(['1', '2', '3', '4']);
    for (const delivery of [...heard.deliveries, ...sibling.deliveries])
      expect(await delivery.accept()).to.equal(true);
    expect(await bed.view.allEntries()).to.equal(0);
  });

  it('that a server held which died are taken over by another within the lease, marked, and its consumers go (REDIS-03, REDIS-02)', async () => {
    const where = source();
    const dying = await bed.connected(bed.url, SHORT_LEASE);
    const heard = await bed.listen(dying, where, false, 3);
    const living = await bed.connected(bed.direct, SHORT_LEASE);
    for (const text of ['1', '2', '3']) await send(living, toTopic(where), text);
    await eventually('all of them', WAIT_MS, () => heard.texts.length === 3);
    const consumers = await bed.view.consumers();
    await bed.proxy.setDoorman('refuse'); // as when the process is killed: it neither renews nor gives back
    bed.proxy.cut();
    const heir = await bed.listen(living, { ...where, server: `${where.server}-2` });
    await eventually('all of them', WAIT_MS, () => heir.texts.length === 3);
    expect(heir.deliveries.map(({ redelivered }) => redelivered)).to.deep.equal([true, true, true]);
    expect(await heard.deliveries[0]?.accept()).to.equal(false);
    await eventually(
      'the consumers of the dead to go',
      WAIT_MS,
      async () => (await bed.view.consumers()) <= consumers,
    );
    expect(await bed.view.allEntries()).to.equal(0);
  });

  it('that were taken over from a server which only hung are not run by it when it wakes (REDIS-02, REDIS-03)', async () => {
    const where = source();
    const hanging = await bed.connected(bed.url, SHORT_LEASE);
    const heard = await bed.listen(hanging, where, false, 2);
    const living = await bed.connected(bed.direct, SHORT_LEASE);
    for (const text of ['1', '2']) await send(living, toTopic(where), text);
    await eventually('both', WAIT_MS, () => heard.texts.length === 2);
    bed.proxy.blackHole();
    const heir = await bed.listen(living, { ...where, server: `${where.server}-2` });
    await eventually('both, elsewhere', WAIT_MS, () => heir.texts.length === 2);
    await bed.proxy.heal();
    for (const delivery of heard.deliveries) expect(await delivery.accept()).to.equal(false);
  });

  it('are refused to their sender where a limit is reached, and none that waits is dropped (REDIS-04, AMQP-31)', async () => {
    const where = source();
    const transport = await bed.connected(bed.direct, { max_length: 5 });
    const declared = await bed.listen(transport, where);
    await declared.listener.close();
    const outcomes: string[] = [];
    for (let n = 0; n < 8; n += 1)
      outcomes.push(
        await send(transport, toTopic(where), String(n)).then(
          () => 'sent',
          (error: unknown) => (error as { code?: string }).code ?? String(error),
        ),
      );
    expect(outcomes).to.deep.equal([
      ...Array<string>(5).fill('sent'),
      ...Array<string>(3).fill('ERR_BACKPRESSURE'),
    ]);
    const heard = await bed.listen(transport, where);
    await eventually('the five', WAIT_MS, () => heard.texts.length === 5);
    expect(heard.texts).to.deep.equal(['0', '1', '2', '3', '4']);
    await eventually('room', WAIT_MS, async () => (await bed.view.allEntries()) === 0);
    await send(transport, toTopic(where), 'again');
  });

  it('that answer a call are sent again for a while when the address is away, and hold up no others (AMQP-25, AMQP-35, REDIS-12)', async () => {
    const where = source();
    const entered = deferred();
    const hold = deferred();
    const others = await bed.connected(bed.direct);
    await bed.serve(others, where, {
      work: async () => {
        entered.resolve();
        await hold.promise;
        return 'kept';
      },
      ping: () => 'pong',
    });
    const before = await bed.view.keys();
    const caller = await bed.connected(bed.url);
    const answer = bed.client(caller, where, { timeoutMs: 20_000 }).call({}, 'work');
    await entered.promise;
    const replies = (await bed.view.keys()).filter((key) => !before.includes(key));
    await bed.proxy.setDoorman('refuse');
    bed.proxy.cut();
    await eventually('the loss', WAIT_MS, () => caller.status().connection !== 'connected');
    for (const key of replies) await bed.server.ask('DEL', key);
    hold.resolve();
    expect(await bed.client(others, where).call({}, 'ping')).to.equal('pong'); // no other reply waits for it
    await bed.proxy.setDoorman('forward');
    expect(await answer).to.equal('kept');
  });
});

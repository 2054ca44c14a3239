import type { ServerSource, Transport } from '@ebbgate/core';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { eventually } from '../support/rigs/deadline.js';
import { failure, send, source, toTopic } from './bed.js';
import { RedisBed, SHORT_LEASE } from './redis-bed.js';

const WAIT_MS = 20_000;
/** More than any recovery needs, and a fraction of what a loop without a pause makes. */
const FEW = 2_000;

describe('what others have put into the keys of the Redis driver', function () {
  this.timeout(60_000);
  let bed: RedisBed;
  let where: ServerSource;

  beforeEach(async () => {
    bed = await RedisBed.start();
    where = source();
  });

  afterEach(() => bed.end());

  async function keyEnding(end: string, part = where.topic): Promise<string> {
    const found = (await bed.view.keys()).find((key) => key.includes(part) && key.endsWith(end));
    if (found === undefined) throw new Error(`No key with ${part} ends with ${end}`);
    return found;
  }

  /** So that the destination exists, and nobody reads there. */
  async function declared(transport: Transport, which: ServerSource): Promise<void> {
    const { listener } = await bed.listen(transport, which);
    await listener.close();
  }

  it('stores nothing of a send that it makes fail: what is told as not sent was not (AMQP-02)', async () => {
    const transport = await bed.connected(bed.direct);
    await declared(transport, where);
    const list = (await keyEnding(':declared')).replace(/declared$/, 'topic');
    await bed.server.ask('SET', `${list}:bell`, 'garbage');
    const error = await failure(send(transport, toTopic(where), 'x'));
    expect([error.code, error.outcome]).to.deep.equal(['ERR_DELIVERY', 'not-sent']);
    expect(await bed.server.ask('EXISTS', list)).to.equal(0);
    await bed.server.ask('DEL', `${list}:bell`);
    await send(transport, toTopic(where), 'again');
  });

  it('keeps nobody from taking over what a dead server held (REDIS-03, REDIS-05)', async () => {
    const dying = await bed.connected(bed.url, SHORT_LEASE);
    const heard = await bed.listen(dying, where, false, 3);
    const living = await bed.connected(bed.direct, SHORT_LEASE);
    for (const text of ['1', '2', '3']) await send(living, toTopic(where), text);
    await eventually('all of them', WAIT_MS, () => heard.texts.length === 3);
    const held = (await bed.view.keys()).find((key) => key.includes(':held:')) ?? '';
    await bed.server.ask('HSET', held, 'garbage', 'x', 'more|', 'y', '', '');
    await bed.proxy.setDoorman('refuse'); // as when the process is killed
    bed.proxy.cut();
    const heir = await bed.listen(living, { ...where, server: `${where.server}-2` });
    await eventually('all of them', WAIT_MS, () => heir.texts.length === 3);
    expect(heir.texts).to.deep.equal(['1', '2', '3']);
    await eventually('an empty store', WAIT_MS, async () => (await bed.view.allEntries()) === 0);
  });

  it('keeps no other list from being rid of what has expired (REDIS-13)', async () => {
    const other = source();
    const transport = await bed.connected(bed.direct);
    for (const one of [where, other]) {
      await declared(transport, one);
      await failure(bed.client(transport, one).prepare({ timeoutMs: 100 }).call({}, 'x'));
    }
    await bed.server.ask('SET', await keyEnding(':topic'), 'garbage');
    await eventually('the end of the other', WAIT_MS, async () => (await bed.view.allEntries()) === 0);
    expect(await bed.server.ask('EXISTS', await keyEnding(':declared', other.topic))).to.equal(1);
  });

  it('is told, asked for without haste, and forgotten when it is gone: each kind of key (REDIS-05, AMQP-20)', async () => {
    const transport = await bed.connected(bed.direct, { lease: 2 });
    await bed.serve(transport, where, { ping: () => 'pong' });
    const client = bed.client(await bed.connected(bed.direct), where, { timeoutMs: 600 });
    const outcome = (): Promise<string> =>
      client
        .call({}, 'ping')
        .then(String, (error: unknown) => (error as { code?: string }).code ?? String(error));
    expect(await outcome()).to.equal('pong');
    const topic = (await keyEnding(':declared')).replace(/declared$/, '');
    const replies = (await keyEnding(':state', 'reply_')).replace(/state$/, '');
    const ofTopic = ['topic', 'topic:back', 'topic:bell', 'leases', 'fanout', 'declared'];
    const ofReplies = ['replies', 'replies:bell', 'state', 'declared'];
    for (const key of [...ofTopic.map((end) => topic + end), ...ofReplies.map((end) => replies + end)]) {
      const [before, told] = [await bed.view.commandsProcessed(), bed.log.lines.length];
      await bed.server.ask('DEL', key);
      await bed.server.ask('SET', key, 'garbage');
      await eventually(`${key} to be told, by the call or by the log`, WAIT_MS, async () => {
        const isRefused = (await outcome()) === 'ERR_DELIVERY';
        return isRefused || bed.log.lines.length > told;
      });
      expect((await bed.view.commandsProcessed()) - before, key).to.be.below(FEW);
      await bed.server.ask('DEL', key);
      await eventually(`service after ${key}`, WAIT_MS, async () => (await outcome()) === 'pong');
    }
  });
});

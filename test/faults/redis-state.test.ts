import type { ServerSource, Transport } from '@ebbgate/core';
import type { RpcClient } from '@ebbgate/rpc';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { eventually } from '../support/rigs/deadline.js';
import { failure, send, source, toFanout, toServer, toTopic } from './bed.js';
import { RedisBed, scriptsWith } from './redis-bed.js';

const WAIT_MS = 20_000;
/** More than any recovery needs, and a thousandth of what a loop without a pause makes in the time that is watched. */
const FEW = 200;
const WATCHED_MS = 700;

describe('what Redis holds for a server', function () {
  this.timeout(40_000);
  let bed: RedisBed;
  let where: ServerSource;

  beforeEach(async () => {
    bed = await RedisBed.start();
    where = source();
  });

  afterEach(() => bed.end());

  async function serving(): Promise<{ transport: Transport; client: RpcClient; ran: string[] }> {
    const ran: string[] = [];
    const endpoint = {
      note: (_context: unknown, { text }: { text: string }): string => {
        ran.push(text);
        return text;
      },
    };
    const transport = await bed.connected(bed.url, { lease: 2 }); // which it looks at often
    await bed.serve(transport, where, endpoint);
    const client = bed.client(await bed.connected(bed.url), where);
    expect(await client.call({}, 'note', { text: 'before' })).to.equal('before');
    return { transport, client, ran };
  }

  /** Everything reaches the server again: by topic, by name and by fanout, and the answers come. */
  async function expectService(client: RpcClient, ran: readonly string[], mark: string): Promise<void> {
    await eventually(`calls after ${mark}`, WAIT_MS, async () => {
      const brief = client.prepare({ timeoutMs: 1_000 });
      return brief.call({}, 'note', { text: `call ${mark}` }).then(
        () => true,
        () => false, // what was lost, was lost; and what is not declared again yet, is told
      );
    });
    await client.prepare({ server: where.server }).cast({}, 'note', { text: `server ${mark}` });
    await eventually(`a fanout after ${mark}`, WAIT_MS, async () => {
      await client.prepare({ fanout: true }).cast({}, 'note', { text: `fanout ${mark}` });
      return ran.includes(`fanout ${mark}`);
    });
    await eventually(`all of it after ${mark}`, WAIT_MS, () => ran.includes(`server ${mark}`));
  }

  /** The commands that are sent in the time that is watched. */
  async function commandsSent(): Promise<number> {
    const begun = performance.now();
    const before = await bed.view.commandsProcessed();
    let asked = 0;
    await eventually('the time that is watched', WAIT_MS, async () => {
      asked += 1;
      await bed.server.ask('PING');
      return performance.now() - begun > WATCHED_MS;
    });
    return (await bed.view.commandsProcessed()) - before - asked - 1;
  }

  it('is not asked of a replica: what that does not have yet is not undeliverable (REDIS-10, AMQP-02)', async () => {
    const { transport } = await serving();
    await bed.server.ask('REPLICAOF', '127.0.0.1', '1');
    try {
      const { code } = await failure(send(transport, toTopic(source()), 'x', { timeoutMs: 1_000 }));
      expect(code).to.equal('ERR_DELIVERY');
    } finally {
      await bed.server.ask('REPLICAOF', 'NO', 'ONE');
    }
    const { code } = await failure(send(await bed.connected(bed.url), toTopic(source()), 'x'));
    expect(code).to.equal('ERR_UNDELIVERABLE');
  });

  const keysEnding = async (end: string): Promise<string[]> =>
    (await bed.view.keys()).filter((key) => key.endsWith(end));

  const losses: Readonly<Record<string, () => Promise<unknown>>> = {
    'everything (FLUSHALL)': () => bed.server.ask('FLUSHALL'),
    'what is declared (DEL)': async () => {
      for (const key of await keysEnding(':declared')) await bed.server.ask('DEL', key);
    },
    'the signs that something waits (DEL)': async () => {
      for (const key of await keysEnding(':bell')) await bed.server.ask('DEL', key);
    },
    'the scripts (SCRIPT FLUSH)': () => bed.server.ask('SCRIPT', 'FLUSH', 'SYNC'),
    'each key but what is declared': async () => {
      const declared = await keysEnding(':declared');
      for (const key of await bed.view.keys()) if (!declared.includes(key)) await bed.server.ask('DEL', key);
    },
    'all leases (DEL)': async () => {
      for (const key of await keysEnding(':leases')) await bed.server.ask('DEL', key);
    },
  };
  for (const [what, lose] of Object.entries(losses))
    it(`may lose ${what}: it is made again without a restart and without a hot loop, and all is served again (REDIS-05, AMQP-07, AMQP-22)`, async () => {
      const { client, ran } = await serving();
      for (const mark of ['the first loss', 'the second']) {
        await lose();
        await expectService(client, ran, mark);
      }
      expect(await commandsSent()).to.be.below(FEW);
    });

  it('is tried again ever later while it cannot be made, told once each time, and made then (REDIS-05, AMQP-08, AMQP-07)', async () => {
    const peer = await bed.peer();
    const transport = await bed.connected(peer.url());
    const heard = await bed.listen(transport, where);
    const told: boolean[] = [];
    transport.events.on('listener', ({ subscribed }) => void told.push(subscribed));
    const tries: number[] = [];
    const making = scriptsWith(peer, "'SADD', KEYS[3]");
    const ends = ['EVAL', 'EVALSHA'].map((name) =>
      peer.script(name, (command) => {
        if (making.some((sign) => command.text.includes(sign))) {
          tries.push(performance.now());
          command.fail('ERR not now');
        } else command.pass();
      }),
    );
    await bed.server.ask('FLUSHALL');
    await eventually('five tries', WAIT_MS, () => tries.length >= 5);
    const gap = (index: number): number => (tries[index] ?? NaN) - (tries[index - 1] ?? NaN);
    expect(gap(4)).to.be.above(gap(1));
    expect(transport.status().listeners.map(({ subscribed }) => subscribed)).to.deep.equal([false]);
    expect(transport.status().connection).to.equal('connected');
    for (const end of ends) end();
    await bed.whole(transport);
    expect(told[0]).to.equal(false);
    expect(told.at(-1)).to.equal(true);
    await send(transport, toTopic(where), 'after');
    await eventually('the message', WAIT_MS, () => heard.texts.includes('after'));
  });

  it('keeps what others have there, in a loss as at an orderly end (AMQP-22, AMQP-37)', async () => {
    await bed.server.ask('SET', 'theirs', 'v');
    await bed.server.ask('XADD', 'their-stream', '*', 'f', 'v');
    const { transport, client, ran } = await serving();
    bed.proxy.cut();
    await expectService(client, ran, 'a cut');
    await transport.close();
    expect(await bed.server.ask('GET', 'theirs')).to.equal('v');
    expect(await bed.server.ask('XLEN', 'their-stream')).to.equal(1);
  });

  it('shared, stays in a recovery with all that waits in it; private, for as long as it may be away (AMQP-22, AMQP-24)', async () => {
    const transport = await bed.connected(bed.url);
    const heard = await bed.listen(transport, where, false, 2);
    const other = await bed.connected(bed.direct);
    for (const text of ['1', '2', '3', '4', '5']) await send(other, toTopic(where), text);
    await eventually('two of them', WAIT_MS, () => heard.deliveries.length === 2);
    const before = await bed.view.queues();
    await bed.proxy.setDoorman('refuse');
    bed.proxy.cut();
    await eventually('the loss', WAIT_MS, () => transport.status().connection !== 'connected');
    await send(other, toFanout(where), 'to all');
    await send(other, toServer(where), 'to the server');
    await bed.proxy.setDoorman('forward');
    await bed.whole(transport);
    const taken = new Set<string>();
    await eventually('all seven', WAIT_MS, async () => {
      for (const [index, delivery] of heard.deliveries.entries())
        if (await delivery.accept()) taken.add(heard.texts[index] ?? '');
      return taken.size === 7;
    });
    expect([...taken].sort()).to.deep.equal(['1', '2', '3', '4', '5', 'to all', 'to the server']);
    expect(await bed.view.queues()).to.deep.equal(before);
    expect(await bed.view.allEntries()).to.equal(0);
  });

  it('private, expires by time when its owner dies, and is gone at once at an orderly end (AMQP-24, AMQP-37, REDIS-13)', async () => {
    const counts: number[] = [];
    for (let times = 0; times < 3; times += 1) {
      const transport = await bed.connected(bed.url);
      const server = await bed.serve(transport, where, { ping: () => 'pong' });
      expect(await bed.client(transport, where).call({}, 'ping')).to.equal('pong');
      await server.stop();
      expect((await server.wait()).unconfirmed).to.deep.equal([]);
      await transport.close();
      counts.push((await bed.view.keys()).length);
    }
    expect(new Set(counts).size).to.equal(1);
    const shared = await bed.view.keys();
    const transport = await bed.connected(bed.url);
    await bed.serve(transport, where, { ping: () => 'pong' });
    expect(await bed.client(transport, where).call({}, 'ping')).to.equal('pong');
    const expiries = await bed.view.expiries();
    const own = (await bed.view.keys()).filter((key) => /:fanout:|reply_/.test(key) && !shared.includes(key));
    expect(own).to.have.length.at.least(2); // what is declared for replies, and their state
    for (const key of own) expect(expiries.get(key), key).to.be.above(0);
  });

  it('for one that died is gone after its time, with its place among those that get fanouts (AMQP-24, REDIS-03)', async () => {
    const brief = { private_ttl: 1, lease: 1, heartbeat: 0.3 };
    const dying = await bed.connected(bed.url, brief);
    await bed.serve(dying, where, { ping: () => 'pong' });
    expect(await bed.client(dying, where).call({}, 'ping')).to.equal('pong');
    const isOwn = (key: string): boolean => /:fanout:|reply_/.test(key);
    await send(dying, toFanout(where), 'x');
    await bed.proxy.setDoorman('refuse'); // as when the process is killed
    bed.proxy.cut();
    await eventually('what was its own to go', WAIT_MS, async () => !(await bed.view.keys()).some(isOwn));
    const living = await bed.connected(bed.direct, brief);
    await bed.serve(living, { ...where, server: `${where.server}-2` }, { ping: () => 'pong' });
    const places = (await bed.view.keys()).find((key) => key.endsWith(':fanout')) ?? '';
    await eventually('its place to go', WAIT_MS, async () => (await bed.server.ask('ZCARD', places)) === 1);
    expect(await bed.client(living, where).call({}, 'ping')).to.equal('pong');
  });
});

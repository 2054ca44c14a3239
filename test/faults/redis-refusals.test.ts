import { inspect } from 'node:util';
import { AuthenticationError, BackpressureError, type Transport } from '@ebbgate/core';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { rejectionOf } from '../support/deferred.js';
import { eventually, within } from '../support/rigs/deadline.js';
import type { RespCommand, RespPeer } from '../support/rigs/resp-peer.js';
import { failure, fresh, send, source, toTopic } from './bed.js';
import { RedisBed } from './redis-bed.js';

const WAIT_MS = 20_000;
const SECRET = 'pw-hunter2';
/** What stores a message: the command, or the script that has it. */
const STORING = ['RPUSH', 'EVAL', 'EVALSHA', 'FCALL'];

describe('refusals, with Redis behind a peer that does what a script says', function () {
  this.timeout(40_000);
  let bed: RedisBed;
  let peer: RespPeer;
  let transport: Transport;
  const where = source();

  beforeEach(async () => {
    bed = await RedisBed.start();
    peer = await bed.peer();
    transport = await bed.connected(peer.url());
    const { listener } = await bed.listen(transport, where); // so that the destination exists
    await listener.close();
    await send(transport, toTopic(where), 'first'); // and the scripts are loaded
  });

  afterEach(() => bed.end());

  /** Does something to the next commands that store a message, so many of them; the function returned ends that. */
  function onStoring(deed: (command: RespCommand) => void, times = Infinity): () => void {
    let left = times;
    const ends = STORING.map((name) =>
      peer.script(name, (command) => {
        left -= 1;
        if (left < 0) command.pass();
        else deed(command);
      }),
    );
    return () => {
      for (const end of ends) end();
    };
  }

  const ROLES = [
    "READONLY You can't write against a read only replica.",
    'LOADING Redis is loading the dataset in memory',
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  ];
  for (const text of ROLES) {
    const code = text.split(' ')[0] ?? '';
    it(`${code} is a loss of the connection: told, left, tried again; sends in between get through or end by their deadline (REDIS-10, AMQP-47)`, async () => {
      const told: string[] = [];
      transport.events.on(
        'connection',
        ({ state, cause }) => void told.push(`${state} ${cause?.message ?? ''}`),
      );
      const before = peer.connections.length;
      onStoring((command) => command.fail(text), 1);
      await send(transport, toTopic(where), 'gets through');
      expect(told.join()).to.contain('disconnected').and.contain(code);
      expect(peer.connections.length).to.be.above(before);
      const end = onStoring((command) => command.fail(text));
      const late = await failure(send(transport, toTopic(where), 'too late', { timeoutMs: 300 }));
      expect([late.code, late.outcome]).to.deep.equal(['ERR_DELIVERY', 'not-sent']);
      const none = await failure(send(transport, toTopic(where), 'none', { retry: 0, timeoutMs: 2_000 }));
      expect([none.code, none.outcome]).to.deep.equal(['ERR_DELIVERY', 'not-sent']);
      end();
      await bed.whole(transport);
      await send(transport, toTopic(where), 'at last');
    });
  }

  it('READONLY to a reader is a loss of its connection, and it comes back (REDIS-10, REDIS-11)', async () => {
    const heard = await bed.listen(transport, where);
    const reading = ['BLPOP'];
    let refused = 0;
    const ends = reading.map((name) =>
      peer.script(name, (command) => {
        refused += 1;
        if (refused <= 3) command.fail(ROLES[0] ?? '');
        else command.pass();
      }),
    );
    await send(transport, toTopic(where), 'wakes it');
    await eventually('the refusals', WAIT_MS, () => refused > 3);
    for (const end of ends) end();
    await bed.whole(transport);
    await send(transport, toTopic(where), 'hears it');
    await eventually('the message', WAIT_MS, () => heard.texts.includes('hears it'));
  });

  it('OOM is back-pressure, told at once, and harms no connection (REDIS-04, AMQP-31, AMQP-01)', async () => {
    await bed.server.ask('CONFIG', 'SET', 'maxmemory-policy', 'noeviction', 'maxmemory', '1');
    try {
      const error = await failure(send(transport, toTopic(where), 'x'));
      expect(error).to.be.instanceOf(BackpressureError);
      expect(error.message).to.match(/memory/i);
      expect(error.cause).to.be.instanceOf(Error);
      const cast = await failure(bed.client(transport, where).cast({}, 'x'));
      expect(cast.code).to.equal('ERR_BACKPRESSURE');
    } finally {
      await bed.server.ask('CONFIG', 'SET', 'maxmemory', '0');
    }
    await send(transport, toTopic(where), 'after');
    expect(transport.status().connection).to.equal('connected');
  });

  it('NOPERM is told to whom it concerns, by an error of its own, and others go on (AMQP-18, AMQP-20)', async () => {
    const user = fresh('user');
    await bed.server.ask('ACL', 'SETUSER', user, 'on', `>${SECRET}`, '~*', '&*', '+@all', '-rpush', '-sadd');
    try {
      const limited = await bed.connected(peer.url(`${user}:${SECRET}`));
      const outcomes = [
        await failure(send(limited, toTopic(where), 'x')),
        await failure(bed.client(limited, where).cast({}, 'x')),
        await failure(limited.listen(source(), { credit: 1 }, () => {})),
      ];
      for (const error of outcomes) {
        expect(error).to.be.instanceOf(AuthenticationError);
        expect(inspect(error, { depth: 20, showHidden: true })).not.to.contain(SECRET);
      }
      await send(transport, toTopic(where), 'others');
    } finally {
      await bed.server.ask('ACL', 'DELUSER', user);
    }
    expect(bed.log.ordinaryText()).not.to.contain(SECRET);
  });

  it('WRONGPASS and NOAUTH are told at once to all who wait, without a fast loop and without the password (AMQP-18, SEC-04)', async () => {
    const user = fresh('user');
    await bed.server.ask('ACL', 'SETUSER', user, 'on', '>right', '~*', '&*', '+@all');
    await bed.server.ask('ACL', 'SETUSER', 'default', 'off');
    try {
      for (const login of [`${user}:${SECRET}`, '']) {
        const before = peer.connections.length;
        const refused = bed.transport(peer.url(login));
        const outcomes = [
          await failure(refused.connect()),
          await failure(send(refused, toTopic(where), 'x')),
          await failure(refused.listen(where, { credit: 1 }, () => {})),
          await failure(bed.client(refused, where).call({}, 'x')),
        ];
        for (const error of outcomes) {
          expect(error).to.be.instanceOf(AuthenticationError);
          expect(inspect(error, { depth: 20, showHidden: true })).not.to.contain(SECRET);
        }
        expect(peer.connections.length - before).to.be.below(8);
        await refused.close();
      }
    } finally {
      await bed.server.ask('ACL', 'SETUSER', 'default', 'on', 'nopass').catch(() => undefined);
    }
    expect(bed.log.ordinaryText()).not.to.contain(SECRET);
  });

  it('NOSCRIPT is no failure: scripts that a restart or an operator has taken away are loaded again (REDIS-05)', async () => {
    for (let times = 0; times < 3; times += 1) {
      await bed.server.ask('SCRIPT', 'FLUSH', 'SYNC');
      await Promise.all(['a', 'b', 'c'].map((text) => send(transport, toTopic(where), text)));
    }
    const heard = await bed.listen(transport, where);
    await eventually('all that was sent, once', WAIT_MS, () => heard.texts.length === 10);
    expect(heard.texts.slice(1).sort().join('')).to.equal('aaabbbccc');
  });

  it('others are told by one of our classes, with what Redis said as the cause (AMQP-20, AMQP-02)', async () => {
    const kinds: readonly (readonly [deed: (command: RespCommand) => void, outcome: string, sign: RegExp])[] =
      [
        [(command) => command.fail('ERR something else'), 'not-sent', /something else/],
        [(command) => command.fail('WRONGTYPE Operation against a key'), 'not-sent', /WRONGTYPE/],
        [
          (command) => command.fail('MISCONF Redis is configured to save RDB snapshots'),
          'not-sent',
          /MISCONF/,
        ],
        [(command) => command.connection.cut('rst'), 'unknown', /./],
        [(command) => command.connection.cut('fin'), 'unknown', /./],
        [
          (command) => {
            command.answerRaw('$10\r\nhalf');
            command.connection.cut('fin');
          },
          'unknown',
          /./,
        ],
        [(command) => command.answerRaw('nonsense\r\n'), 'unknown', /./],
      ];
    for (const [deed, outcome, sign] of kinds) {
      const end = onStoring(deed, 1);
      const error = await failure(send(transport, toTopic(where), 'x', { retry: 0 }));
      end();
      expect([error.code, error.outcome], String(sign)).to.deep.equal(['ERR_DELIVERY', outcome]);
      expect(error.message).to.match(sign);
      expect(error.cause).to.be.instanceOf(Error);
      await bed.whole(transport);
      await send(transport, toTopic(where), 'the next one');
    }
  });

  it('an answer that comes after the deadline, or never, leaves the outcome unknown, and disturbs nothing later (AMQP-02, AMQP-03, REDIS-08)', async () => {
    const held: RespCommand[] = [];
    const end = onStoring((command) => void held.push(command), 1);
    const late = await failure(send(transport, toTopic(where), 'late', { timeoutMs: 150 }));
    expect([late.code, late.outcome]).to.deep.equal(['ERR_DELIVERY', 'unknown']);
    end();
    held[0]?.pass();
    await send(transport, toTopic(where), 'next');
    const cast = bed.client(transport, where).cast({}, 'method');
    await cast;
    const heard = await bed.listen(transport, where);
    await eventually('all that was stored', WAIT_MS, () => heard.texts.length === 4);
    expect(heard.texts.slice(0, 3)).to.deep.equal(['first', 'late', 'next']);
  });

  it('a cast resolves when Redis has answered, and not before (AMQP-03)', async () => {
    const held: RespCommand[] = [];
    const end = onStoring((command) => void held.push(command), 1);
    let settled = false;
    const cast = bed.client(transport, where).cast({}, 'method');
    void cast.finally(() => (settled = true));
    await eventually('the command', WAIT_MS, () => held.length === 1);
    await bed.server.ask('PING');
    expect(settled).to.equal(false);
    end();
    held[0]?.pass();
    await within('the cast', WAIT_MS, cast);
  });

  it('no more waits than the limits say, whatever Redis does not answer, and no place is lost (AMQP-01, AMQP-36)', async () => {
    const narrow = await bed.connected(peer.url(), {}, { maxPendingSends: 5, maxPendingBytes: 1_000 });
    await send(narrow, toTopic(where), 'x');
    onStoring(() => {});
    const waiting = Array.from({ length: 5 }, () =>
      failure(send(narrow, toTopic(where), 'x', { timeoutMs: 300 })),
    );
    const error = await rejectionOf(send(narrow, toTopic(where), 'one too many'));
    expect(error).to.be.instanceOf(BackpressureError);
    for (const { code } of await Promise.all(waiting)) expect(code).to.equal('ERR_DELIVERY');
    const big = failure(send(narrow, toTopic(where), 'x'.repeat(900), { timeoutMs: 200 }));
    expect((await failure(send(narrow, toTopic(where), 'x'.repeat(200)))).message).to.contain(
      'maxPendingBytes',
    );
    await big;
    expect(narrow.pendingSends).to.equal(0);
  });
});

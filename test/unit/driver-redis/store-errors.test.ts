import { MessageDeliveryError, MessagingError } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { asStoreError, refusalOf } from '#driver-redis/store-errors.js';

function reply(text: string): Error {
  return Object.assign(new Error(text), { name: 'ReplyError' });
}

describe('the errors of the Redis driver', () => {
  for (const [text, refusal, code] of [
    ['NOPERM this user has no permissions to run the command', 'denied', 'ERR_AUTHENTICATION'],
    ['NOAUTH Authentication required.', 'denied', 'ERR_AUTHENTICATION'],
    ['WRONGPASS invalid username-password pair or user is disabled.', 'denied', 'ERR_AUTHENTICATION'],
    ["OOM command not allowed when used memory > 'maxmemory'.", 'full', 'ERR_BACKPRESSURE'],
    [
      "ERR Error running script (call to f_0): @user_script:3: -OOM command not allowed when used memory > 'maxmemory'.",
      'full',
      'ERR_BACKPRESSURE',
    ],
    ["READONLY You can't write against a read only replica.", 'lost', 'ERR_DELIVERY'],
    ['LOADING Redis is loading the dataset in memory', 'lost', 'ERR_DELIVERY'],
    [
      "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
      'lost',
      'ERR_DELIVERY',
    ],
    ['CLUSTERDOWN The cluster is down', 'lost', 'ERR_DELIVERY'],
    ['ERR max number of clients reached', 'lost', 'ERR_DELIVERY'],
    ["NOGROUP No such key 'x' or consumer group 'servers' in XREADGROUP", 'other', 'ERR_DELIVERY'],
    ['UNBLOCKED the stream key no longer exists', 'other', 'ERR_DELIVERY'],
    ['NOSCRIPT No matching script. Please use EVAL.', 'unknown-script', 'ERR_DELIVERY'],
    ["ERR unknown command 'evalsha', with args beginning with: 'f1a8'", 'unknown-script', 'ERR_DELIVERY'],
    ["ERR unknown command 'eval', with args beginning with: 'return'", 'denied', 'ERR_AUTHENTICATION'],
    [
      'ERR Unknown Redis command called from script script: f1a8, on @user_script:3.',
      'denied',
      'ERR_AUTHENTICATION',
    ],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', 'other', 'ERR_DELIVERY'],
    ['MISCONF Redis is configured to save RDB snapshots, but is unable to persist', 'other', 'ERR_DELIVERY'],
  ] as const) {
    it(`know ${text.slice(0, 40)}… as ${refusal}: ${code}, not sent (AMQP-20, REDIS-10)`, () => {
      expect(refusalOf(reply(text))).to.equal(refusal);
      expect(asStoreError(reply(text), 'Cannot publish', 'unknown')).to.include({
        code,
        outcome: 'not-sent',
      });
    });
  }

  it('say of what the store has not answered what its caller knows of it (AMQP-02)', () => {
    const lost = new Error('Connection is closed.');
    expect(refusalOf(lost)).to.equal(undefined);
    expect(asStoreError(lost, 'Cannot publish', 'unknown')).to.include({ outcome: 'unknown' });
    expect(asStoreError(lost, 'Cannot publish')).to.include({ outcome: 'not-sent' });
  });

  it('have the cause attached, without secrets (AMQP-20, SEC-02)', () => {
    const error = asStoreError(new Error('connect redis://u:s3cret@h/ failed'), 'Cannot connect');
    expect(error).to.be.instanceOf(MessageDeliveryError);
    expect(`${error.message} ${(error.cause as Error).message}`).to.not.include('s3cret');
  });

  it('of the family are passed on as they are', () => {
    const own = new MessagingError('own');
    expect(asStoreError(own, 'Cannot publish')).to.equal(own);
  });
});

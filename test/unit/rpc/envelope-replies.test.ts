import { SerializationError } from '@ebbgate/core';
import { readReply, replyMessage, type RpcReply } from '#rpc/envelope.js';
import { encodeFailure } from '#rpc/failure.js';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { throughWire } from '../../support/bytes-driver.js';
import { comparable, enveloped, innerOf, readCase, textOf } from '../../support/recorded.js';
import { plainMessage, rawMessage } from '../../support/requests.js';

const ID = '0'.repeat(32);

describe('a reply', () => {
  const reply = (parts: Partial<RpcReply>): RpcReply => ({
    msgId: ID,
    result: null,
    failure: null,
    ending: true,
    ...parts,
  });

  it('has the members of the recorded ones as bytes, in their order', () => {
    const recorded = readCase('call_result').published[1];
    if (!recorded) throw new Error('no such message');
    const sent = textOf(replyMessage(reply({ result: { a: [1, 2.5, true, null, 'x'] } })));
    expect(comparable(innerOf(sent))).to.deep.equal(comparable(innerOf(recorded.body)));
    expect(innerOf(sent)['_unique_id']).to.match(/^[0-9a-f]{32}$/);
  });

  it('carries a failure as JSON text with the six members of the recorded ones first', () => {
    const recorded = readCase('call_exception_builtin').published[1];
    if (!recorded) throw new Error('no such message');
    const failureOf = (body: string): object => JSON.parse(innerOf(body)['failure'] as string) as object;
    const sent = textOf(replyMessage(reply({ failure: encodeFailure(new RangeError('bad')) })));
    expect(innerOf(sent)['result']).to.equal(null);
    expect(Object.keys(failureOf(sent))).to.deep.equal([...Object.keys(failureOf(recorded.body)), 'ebbgate']);
    expect(failureOf(sent)).to.deep.include({
      class: 'ValueError',
      module: 'builtins',
      message: 'bad',
      args: ['bad'],
      kwargs: {},
    });
  });

  it('is a sign of life without a result (RPC-04)', () => {
    expect(Object.entries(innerOf(textOf(replyMessage(reply({ ending: false }))))).slice(0, 4)).to.deep.equal(
      [
        ['result', null],
        ['failure', null],
        ['ending', false],
        ['_msg_id', ID],
      ],
    );
  });

  it('is read as what it was before', () => {
    for (const one of [
      reply({ result: [1] }),
      reply({ ending: false }),
      reply({ failure: '{"message":"m"}' }),
    ]) {
      expect(readReply(replyMessage(one))).to.deep.equal(one);
      expect(readReply(throughWire(replyMessage(one)))).to.deep.equal(one);
    }
  });

  it('lets no failure pass for a result, whatever form it has (RPC-16)', () => {
    const failureOf = (failure: unknown): unknown =>
      readReply(rawMessage(enveloped({ result: 'ok', failure, ending: true, _msg_id: ID }))).failure;
    for (const none of [undefined, null, '']) expect(failureOf(none)).to.equal(null);
    for (const some of ['x', { message: 'm' }, ['m'], 1, true]) expect(failureOf(some)).to.deep.equal(some);
  });

  it('is refused without the id of its call (RPC-06)', () => {
    for (const inner of [{}, { _msg_id: 1 }, { _msg_id: null }, { result: 'x', ending: true }]) {
      expect(() => readReply(rawMessage(enveloped(inner)))).to.throw(SerializationError);
    }
    expect(() => readReply(plainMessage())).to.throw(SerializationError);
  });

  it('shares no object with its forks', () => {
    const original = reply({ result: { list: [1] } });
    const message = replyMessage(original);
    const fork = readReply({ ...message, body: message.body.fork() });
    (fork.result as { list: number[] }).list.push(2);
    expect(original.result).to.deep.equal({ list: [1] });
  });
});

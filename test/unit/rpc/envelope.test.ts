import { SerializationError } from '@ebbgate/core';
import { readRequest, replyMessage, requestMessage, type RpcRequest } from '#rpc/envelope.js';
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { throughWire } from '../../support/bytes-driver.js';
import { comparable, enveloped, innerOf, readCase, textOf } from '../../support/recorded.js';
import { plainRequest, rawMessage } from '../../support/requests.js';

const SENDING = { deadline: undefined, expirationMs: undefined };
const ID = '0'.repeat(32);

describe('a request as bytes', () => {
  for (const [name, index] of [
    ['call_result', 0],
    ['call_result', 2],
    ['cast', 0],
    ['context_keys', 0],
    ['context_keys', 2],
  ] as const) {
    it(`has the members of ${name} (${String(index)}), in their order, and no others`, () => {
      const recorded = readCase(name).published[index];
      if (!recorded) throw new Error('no such message');
      const read = readRequest(rawMessage(recorded.body));
      const sent = textOf(requestMessage(read, SENDING));
      expect(comparable(innerOf(sent))).to.deep.equal(comparable(innerOf(recorded.body)));
      expect(Object.keys(JSON.parse(sent) as object)).to.deep.equal(['oslo.version', 'oslo.message']);
      expect((JSON.parse(sent) as Record<string, unknown>)['oslo.version']).to.equal('2.0');
    });
  }

  it('has all members in the order of oslo.messaging', () => {
    const full = plainRequest({
      namespace: 'n',
      version: '1.1',
      context: { user: 'u', b: 1 },
      msgId: 'a'.repeat(32),
      replyTo: 'reply_1',
      monitorMs: 1500,
    });
    expect(Object.entries(innerOf(textOf(requestMessage(full, SENDING))))).to.deep.equal([
      ['method', 'm'],
      ['args', {}],
      ['namespace', 'n'],
      ['version', '1.1'],
      ['_msg_id', 'a'.repeat(32)],
      ['_reply_q', 'reply_1'],
      ['_timeout', 1.5],
      ['_unique_id', ID],
      ['_context_user', 'u'],
      ['_context_b', 1],
    ]);
  });

  it('is always the same bytes', () => {
    const { body } = requestMessage(plainRequest({ args: { a: 1 } }), SENDING);
    expect(body.encode()).to.equal(body.encode());
    expect(body.size).to.equal(body.encode().byteLength);
  });

  const plainText = fc.string({ unit: 'grapheme' });
  const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
    fc.option(arbitrary, { nil: undefined });
  const requests = fc
    .record({
      method: plainText,
      args: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })),
      namespace: fc.option(plainText),
      version: optional(plainText),
      context: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })),
      call: optional(fc.record({ msgId: fc.string(), replyTo: fc.string() })),
      monitorMs: optional(fc.integer({ min: 1, max: 1e9 })),
    })
    .map(({ call, monitorMs, ...rest }) =>
      plainRequest({ ...(rest as Partial<RpcRequest>), ...call, monitorMs: call && monitorMs }),
    );

  it('is read as what it was before, whatever is in it (CORE-06)', () => {
    fc.assert(
      fc.property(requests, (sent) => {
        const message = requestMessage(sent, SENDING);
        const viaBytes = readRequest(throughWire(message));
        const local = readRequest(message);
        expect({ ...viaBytes, context: { ...viaBytes.context }, monitorMs: 0 }).to.deep.equal({
          ...local,
          args: JSON.parse(JSON.stringify(local.args)),
          context: JSON.parse(JSON.stringify(local.context)),
          monitorMs: 0,
        });
        expect(viaBytes.monitorMs ?? 0).to.be.closeTo(local.monitorMs ?? 0, 1e-3);
      }),
      { numRuns: 300 },
    );
  });

  it('shares no object with its forks', () => {
    const original = plainRequest({ args: { list: [1] }, context: { roles: ['a'] } });
    const message = requestMessage(original, SENDING);
    const fork = readRequest({ ...message, body: message.body.fork() });
    expect({ ...fork, context: { ...fork.context } }).to.deep.equal(original);
    (fork.args['list'] as number[]).push(2);
    (fork.context['roles'] as string[]).push('b');
    expect(original.args).to.deep.equal({ list: [1] });
    expect(original.context).to.deep.equal({ roles: ['a'] });
  });
});

describe('a request that is read', () => {
  it('has the defaults of oslo.messaging for what is absent or null (RPC-09)', () => {
    expect({ ...readRequest(rawMessage('{"method":"m"}')), context: {} }).to.deep.equal({
      ...plainRequest(),
      uniqueId: undefined,
    });
    const nulls = enveloped({
      method: 'm',
      args: {},
      namespace: null,
      _msg_id: null,
      _reply_q: null,
      _timeout: null,
    });
    expect({ ...readRequest(rawMessage(nulls)), context: {} }).to.deep.equal({
      ...plainRequest(),
      uniqueId: undefined,
    });
  });

  it('keeps a version that is no text apart from none (RPC-12)', () => {
    const versionOf = (version: unknown): unknown =>
      readRequest(rawMessage(enveloped({ method: 'm', version }))).version;
    expect(versionOf(undefined)).to.equal(undefined);
    expect(versionOf(null)).to.equal('null');
    for (const odd of [1, 2.5, true, [], {}, [['1.0']], { toString: 1 }])
      expect(versionOf(odd)).to.match(/^of type/);
  });

  it('asks for a monitor only with a positive number of seconds (RPC-04)', () => {
    const monitorOf = (text: string): unknown =>
      readRequest(rawMessage(`{"method":"m","_timeout":${text}}`)).monitorMs;
    expect([monitorOf('4'), monitorOf('0.25'), monitorOf('"2"')]).to.deep.equal([4000, 250, 2000]);
    for (const none of [
      'null',
      '0',
      '-1',
      'true',
      '""',
      '"x"',
      '[]',
      '{}',
      'NaN',
      'Infinity',
      '1e400',
      '99999999999999999999',
    ]) {
      expect(monitorOf(none), none).to.equal(undefined);
    }
  });

  it('is refused when it is no request, without its content in the error (AMQP-30)', () => {
    const bodies: readonly (string | Uint8Array)[] = [
      '',
      ' ',
      '{',
      'null',
      '1',
      '"text"',
      '[]',
      '[{"method":"m"}]',
      'undefined',
      '{"method":"m"}}',
      "{'method':1}",
      '\ufeff{"method":"m"}',
      '{"method":1}',
      '{"method":null}',
      '{"args":{}}',
      '{"method":"m","args":null}',
      '{"method":"m","args":[]}',
      '{"method":"m","args":"secret-text"}',
      '{"method":"m","namespace":1}',
      '{"method":"m","_msg_id":5}',
      '{"method":"m","_reply_q":{}}',
      '{"method":"m","_unique_id":[]}',
      enveloped([]),
      enveloped('m'),
      enveloped(null),
      '{"oslo.version":"2.1","oslo.message":"{}"}',
      '{"oslo.version":"2.0","oslo.message":"{"}',
      '{"oslo.version":"2.0","oslo.message":{"method":"m"}}',
      Buffer.from([0xff, 0xfe, 0x00]),
      Buffer.from('{"method":"m"}', 'utf16le'),
      Buffer.concat([Buffer.from('{"method":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]),
    ];
    for (const body of bodies) {
      expect(() => readRequest(rawMessage(body)), String(body))
        .to.throw(SerializationError)
        .with.property('message')
        .that.does.not.contain('secret');
    }
  });

  it('is refused when it is a reply (AMQP-30)', () => {
    const reply = replyMessage({ msgId: 'a', result: 1, failure: null, ending: true });
    expect(() => readRequest(reply)).to.throw(SerializationError);
    expect(() => readRequest(throughWire(reply))).to.throw(SerializationError);
  });
});

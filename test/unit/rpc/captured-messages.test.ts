import { Deadline } from '@ebbgate/core';
import { RemoteError, RemoteErrorRegistry } from '@ebbgate/rpc';
import { readRequest } from '#rpc/envelope.js';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { rejectionOf, turn, until } from '../../support/deferred.js';
import { readCase, type RecordedMessage, type RecordedOutcome } from '../../support/recorded.js';
import { publish, rawMessage } from '../../support/requests.js';
import { SERVER, TOPIC, useBed } from '../../support/rpc-bed.js';

const OPTIONS = { deadline: Deadline.after(60_000), mandatory: true, retry: undefined };

describe('requests made by hand for a real oslo.messaging server', () => {
  const bed = useBed('bytes');
  const { outcome, published } = readCase('odd_requests');

  /** These differ from a plain request in their AMQP properties alone, which a body does not show: drivers refuse them. */
  const BY_PROPERTIES: ReadonlySet<string> = new Set([
    'no content type',
    'text/plain',
    'application/json; charset=utf-8',
  ]);

  /** Taken by the server and refused as a call: nobody is told, as they are casts. The others are no requests at all. */
  const UNDISPATCHABLE: ReadonlySet<string> = new Set(['unknown argument', 'explicit nulls']);

  Object.entries(outcome).forEach(([name, ran], index) => {
    if (BY_PROPERTIES.has(name)) return;
    it(`${ran.length > 0 ? 'runs' : 'does not run'}: ${name} (AMQP-30)`, async () => {
      const seen: unknown[] = [];
      const server = await bed().serve({
        record: (_context: unknown, args: object) => {
          seen.push(args);
        },
      });
      const message = rawMessage((published[index] as RecordedMessage).body);
      await publish(bed().transport, message);
      await until(() => server.counts.run + server.counts.malformed === 1);
      await turn();
      expect(seen).to.deep.equal(ran);
      const isRequest = ran.length > 0 || UNDISPATCHABLE.has(name);
      expect(server.counts).to.include({ run: isRequest ? 1 : 0, malformed: isRequest ? 0 : 1 });
    });
  });
});

describe('replies made by hand for a real oslo.messaging client', () => {
  const bed = useBed('bytes');
  const { outcome, published } = readCase('odd_replies');

  /** The replies of each call, in the order of the cases. */
  const replies: RecordedMessage[][] = [];
  for (const message of published) {
    if (message.exchange !== '') replies.push([]);
    else replies.at(-1)?.push(message);
  }

  class QuotaExceeded extends Error {}
  class FormattedError extends Error {}
  const remoteErrors = new RemoteErrorRegistry();
  remoteErrors.register(QuotaExceeded, { module: 'remote_errors' });
  remoteErrors.register(FormattedError, {
    module: 'remote_errors',
    build: ({ args }) => {
      if (args.length !== 1) throw new TypeError('takes one argument');
      return new FormattedError(JSON.stringify(args[0]));
    },
  });

  /** Where ours is not what Python's client did, and why. `returned` or the type that is told to be the remote one. */
  const DEVIATIONS: ReadonlyMap<string, { returned?: unknown; code?: string; remoteType?: string }> = new Map(
    [
      // A missing member is no failure: Python's KeyError is a defect of its reading.
      ['no failure key', { returned: 'ok' }],
      // A sign of life to a call without a monitor means nothing; it kills a Python caller (wire.md 13, 7).
      ['ending false without a monitor', { code: 'ERR_TIMEOUT' }],
      // What the object says is as clear as its text would have been.
      ['failure as an object, not a string', { remoteType: 'ValueError' }],
      // Python's own types are rebuilt from a registry only, and TypeError (decisions.md 16).
      ['failure ValueError', { remoteType: 'ValueError' }],
      ['failure without tb, args and kwargs', { remoteType: 'ValueError' }],
      ['failure of module exceptions (Python 2 name)', { remoteType: 'ValueError' }],
      ['both a result and a failure', { remoteType: 'ValueError' }],
      // The dispatcher's two errors are our own.
      ['failure of oslo_messaging itself', { code: 'ERR_UNSUPPORTED_VERSION' }],
      // A name for what has none.
      ['failure without module and class', { remoteType: 'unknown' }],
    ],
  );

  function expected(name: string, python: RecordedOutcome): object {
    const own = DEVIATIONS.get(name);
    if (own) return own.remoteType === undefined ? own : { code: 'ERR_REMOTE', remoteType: own.remoteType };
    if (!python.raised) return { returned: python.returned };
    const { type, str } = python.raised;
    if (type === 'MessagingTimeout') return { code: 'ERR_TIMEOUT' };
    if (type === 'RemoteError') {
      return { code: 'ERR_REMOTE', remoteType: /^Remote error: (\S+)/.exec(str)?.[1] };
    }
    return { name: type.replace('_Remote', ''), message: str.split('\n', 1)[0] };
  }

  function actual(settled: PromiseSettledResult<unknown>): object {
    if (settled.status === 'fulfilled') return { returned: settled.value };
    const error = settled.reason as Error & { code?: string };
    if (error instanceof RemoteError) return { code: error.code, remoteType: error.remoteType };
    if (error.code !== undefined) return { code: error.code };
    return { name: error.constructor.name, message: error.message };
  }

  it('is a case for each reply, and every deviation is one of them', () => {
    expect(replies).to.have.length(Object.keys(outcome).length);
    expect(Object.keys(outcome)).to.include.members([...DEVIATIONS.keys()]);
  });

  Object.entries(outcome).forEach(([name, [python]], index) => {
    it(`${DEVIATIONS.has(name) ? 'deviates' : 'is as in Python'}: ${name} (RPC-01, RPC-16)`, async () => {
      const listener = await bed().transport.listen(
        { exchange: 'openstack', topic: TOPIC, server: SERVER },
        { credit: 1 },
        (delivery) => {
          void delivery.accept();
          const { msgId = '', replyTo = '' } = readRequest(delivery.message);
          for (const { body } of replies[index] ?? []) {
            const reply = rawMessage(body.replace(/[0-9a-f]{32}(?=\\?"(?:, \\?"_unique_id|\}))/, msgId));
            void bed().transport.publish({ kind: 'reply', address: replyTo }, reply, OPTIONS);
          }
        },
      );
      const monitor = name === 'heartbeats with a monitor' ? { callMonitorTimeoutMs: 5000 } : {};
      const client = bed().client({ timeoutMs: 100, remoteErrors, ...monitor });
      const [settled] = await Promise.allSettled([client.call({}, 'm')]);
      expect(actual(settled)).to.deep.equal(expected(name, python as RecordedOutcome));
      await listener.close();
    });
  });

  it('keeps the traceback lines of a failure (RPC-16)', () => {
    expect(replies.flat().some(({ body }) => body.includes('line1'))).to.equal(true);
  });
});

describe('recorded calls with falsy results', () => {
  const bed = useBed('bytes');
  const { outcome, published } = readCase('call_falsy_results');

  it('are answered with the recorded results (RPC-05)', async () => {
    await bed().serve({ echo: (_context: unknown, { value }: { value: unknown }) => value });
    const requests = published
      .filter(({ exchange }) => exchange !== '')
      .map(({ body }) => readRequest(rawMessage(body)));
    const results = await Promise.all(
      requests.map(({ method, args }) => bed().client().call({}, method, args)),
    );
    expect(results).to.deep.equal(Object.values(outcome).map(([one]) => (one as RecordedOutcome).returned));
    expect(results).to.have.length(8);
    expect(await rejectionOf(bed().client().call({}, 'nope'))).to.include({ code: 'ERR_NO_SUCH_METHOD' });
  });
});

import { expect } from 'chai';
import { describe, it } from 'mocha';
import { readCapture, textIn, without } from './replay/capture.js';
import { holdsNaN } from './replay/client-expected.js';
import { CASES, isReplayed } from './replay/cases.js';
import { OurSide } from './replay/our-side.js';
import {
  ourReply,
  recordedReply,
  recordedRequests,
  type Reply,
  type Request,
  type Served,
  ServerReplay,
} from './replay/server.js';

type Failure = Readonly<Record<string, unknown>>;

/** W30: a reply is not stored on disk. */
function unstored(reply: Reply): Reply {
  return { ...reply, properties: { ...reply.properties, delivery_mode: 1 } };
}

/** W16: the text alone as argument, a trace of our own making, and what keeps the error's identity between our sides. */
function asOurs(reply: Reply): Reply {
  const { failure, result } = reply.inner;
  // W8: no context has a member that the caller never gave.
  const rest = without(Object(result) as object, 'client_timeout'); // of `context` an object
  const isContext = typeof result === 'object' && result !== null && 'client_timeout' in result;
  if (holdsNaN(result)) return refusedNaN(reply);
  if (failure === null) return isContext ? { ...reply, inner: { ...reply.inner, result: rest } } : reply;
  const told = without(failure as Failure, 'tb', 'args'); // null or the failure's object
  return { ...reply, inner: { ...reply.inner, failure: { ...told, args: [told['message']] } } };
}

/** W14: what is no JSON is never sent, and the caller is told so (W22). */
function refusedNaN(reply: Reply): Reply {
  const message = 'Cannot send result: NaN and the infinities cannot be sent; send null or text';
  const failure = { class: 'SerializationError', module: 'ebbgate', message, args: [message], kwargs: {} };
  return { ...reply, inner: { ...reply.inner, result: null, failure } };
}

function withoutOwn(reply: Reply): Reply {
  const { failure } = reply.inner;
  if (failure === null) return reply;
  const { tb, ebbgate, ...told } = failure as Failure; // null or the failure's object
  expect(tb).to.satisfy(
    (lines: unknown) => Array.isArray(lines) && lines.every((line) => String(line).endsWith('\n')),
  );
  expect(ebbgate).to.be.an('object').that.has.property('name');
  return { ...reply, inner: { ...reply.inner, failure: told } };
}

/** The replies that ours is to send where Python sent these. */
function expectedReplies({ replies, inner }: Request): Reply[] {
  const recorded = replies.map((reply) => asOurs(unstored(recordedReply(reply))));
  const end = recorded.findIndex((reply) => reply.inner['ending'] === true);
  const kept = recorded.slice(0, end + 1); // W11: nothing follows the end
  const [only] = kept;
  if (kept.length !== 1 || !only || inner?.['_timeout'] !== 1) return kept;
  const sign = { ...only, inner: { ...only.inner, result: null, ending: false } };
  return [sign, sign, sign, sign, only]; // W18: also for a monitor of one second, 2.5 seconds long
}

/** W20: ours rejects what is no request, where Python acknowledges it and then finds out. */
function expectedSettling({ inner, settled }: Request): string {
  const isRequest = typeof inner?.['method'] === 'string' && inner['args'] !== null;
  return settled === 'ack' && !isRequest ? 'reject' : settled;
}

/** What the methods of a server were given, where the recording tells. */
function expectedSeen(name: string, server: string): readonly unknown[] | undefined {
  const outcome = readCapture(name).outcome as Readonly<Record<string, readonly unknown[]>>; // of these steps plain lists
  if (name === 'odd_requests') {
    const steps = Object.entries(outcome);
    // W31: what a method declares is no part of a request; without a contract it is called with what came.
    return steps.flatMap(([step, seen]) => (step === 'unknown argument' ? [undefined] : seen));
  }
  if (name !== 'duplicate_request') return outcome[`${server} received`] ?? outcome['server received'];
  const once = (outcome['after 16 others and a third copy'] ?? []).slice(0, -1); // W19: ours knows the third copy too
  return [...once, ...(outcome['two without an id'] ?? [])].map((n) => ({ n }));
}

async function replay(side: OurSide, served: Served, name: string): Promise<void> {
  const run = await ServerReplay.start(side, served, name);
  const { requests } = served;
  for (const request of requests) run.deliver(request);
  run.ours.endpoint.go.resolve(undefined);
  await run.settled(requests.flatMap(expectedReplies).length);
  requests.forEach((request, index) => {
    const replies = run.repliesTo(request).map((reply) => withoutOwn(ourReply(reply)));
    if (request.inner?.['_msg_id'] !== undefined)
      expect(replies, textIn(request.inner, 'method')).to.deep.equal(expectedReplies(request));
    expect(run.settling(index), `delivery ${String(index + 1)}`).to.equal(expectedSettling(request));
  });
  const { server, endpoint } = run.ours;
  const seen = expectedSeen(name, served.recorded.server);
  if (seen) expect(endpoint.seen).to.deep.equal(seen);
  await server.stop();
  await server.wait();
}

describe('our server in the place of the recorded one (W8, W11, W14, W15, W16, W18, W19, W20, W22, W30, W31)', function () {
  this.timeout(20_000);

  for (const [name, cover] of Object.entries(CASES)) {
    if (!isReplayed(cover, 'server')) continue;
    for (const served of recordedRequests(readCapture(name))) {
      const { recorded, requests } = served;
      it(`${name}: server ${recorded.server} of ${recorded.topic} settles and answers ${String(requests.length)} the same (AMQP-30, RPC-05)`, async () => {
        const side = await OurSide.start(cover.options);
        try {
          await replay(side, served, name);
        } finally {
          await side.close();
        }
      });
    }
  }
});

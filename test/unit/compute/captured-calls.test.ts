import { expect } from 'chai';
import { describe, it } from 'mocha';
import { Deadline, type Transport } from '@ebbgate/core';
import { RpcClient, ValidationError } from '@ebbgate/rpc';
import { CONTROL_EXCHANGE, decodeObjects, HypervisorError, RPC_TOPIC } from '@ebbgate/compute';
import { computeMethods } from '#compute/rpc/methods.js';
import { CapturedLog } from '../../support/captured-log.js';
import { turn, until } from '../../support/deferred.js';
import { enveloped, innerOf, textOf } from '../../support/recorded.js';
import { rawMessage } from '../../support/requests.js';
import { CAPTURED_FLOWS, type CapturedFlow, withFlow } from './captured-flows.js';
import { CAPTURED_ROWS, type CapturedRow, fieldsOf, kindOf } from './captured-rows.js';
import { type Capture, readCaptures } from './captures.js';
import { DEST, SOURCE, type TestCloud, withCloud } from './test-cloud.js';

type Inner = Readonly<Record<string, unknown>>;

/** A Nova client that sends recorded requests, byte by byte but for where it waits, and keeps what comes. */
class RecordedClient {
  readonly replies: Inner[] = [];
  readonly #transport: Transport;
  readonly #address: string;

  private constructor(transport: Transport, address: string, replies: Inner[]) {
    this.#transport = transport;
    this.#address = address;
    this.replies = replies;
  }

  static async on(transport: Transport): Promise<RecordedClient> {
    const replies: Inner[] = [];
    const queue = await transport.openReplyQueue((message) => {
      replies.push(innerOf(textOf(message)));
    });
    return new RecordedClient(transport, queue.address, replies);
  }

  async send({ request }: Capture, server: string, changes: Inner = {}): Promise<void> {
    const inner = { ...request, ...('_reply_q' in request && { _reply_q: this.#address }), ...changes };
    const where = { kind: 'server', exchange: CONTROL_EXCHANGE, topic: RPC_TOPIC, server } as const;
    // As Nova's client does it: a destination that is not there is no error.
    const options = { deadline: Deadline.after(5000), mandatory: false, retry: undefined };
    await this.#transport.publish(where, rawMessage(enveloped(inner)), options);
  }

  get answer(): Inner | undefined {
    return this.replies.find(({ ending }) => ending === true);
  }
}

/** What the recorded answer and ours have in common. */
function checkAnswer(ours: Inner | undefined, capture: Capture): void {
  const recorded = capture.replies.at(-1);
  expect(Object.keys(ours ?? {})).to.have.members(Object.keys(recorded ?? {}));
  expect(ours).to.include({ ending: true, _msg_id: capture.request['_msg_id'] });
  expect(failureIn(ours)).to.deep.equal(failureIn(recorded));
  const [result, was] = [decodeObjects(ours?.['result']), decodeObjects(recorded?.['result'])];
  expect(kindOf(result)).to.deep.equal(kindOf(was));
  expect(fieldsOf(result)).to.include.members([...fieldsOf(was)]);
}

/** What a Python client makes an exception of; a failure is text. */
function failureIn(reply: Inner | undefined): unknown {
  const failure = reply?.['failure'];
  if (typeof failure !== 'string') return failure;
  const { class: name, module, message, args, tb, kwargs } = JSON.parse(failure) as Inner; // as a server wrote it
  return { name, module, message, args, hasTrace: Array.isArray(tb), hasKwargs: typeof kwargs === 'object' };
}

/** Requests that reached a host and that it could not take: unknown, or with arguments that do not fit. */
function refusalsOf(test: TestCloud, log: CapturedLog, host: string): readonly unknown[] {
  const { newRequestServer } = test.cloud.host(host).process;
  const invalid = log.at('error').filter(({ fields }) => fields['err'] instanceof ValidationError);
  return [
    ...Array.from({ length: newRequestServer.counts.undispatchable }, () => 'undispatchable'),
    ...invalid,
  ];
}

async function withHosts(work: (test: TestCloud, log: CapturedLog) => Promise<void>): Promise<void> {
  const log = new CapturedLog();
  await withCloud({ logger: log, recheckMs: 10 }, (test) => work(test, log));
}

async function replayOnHost(capture: Capture, row: CapturedRow): Promise<void> {
  await withHosts(async (test, log) => {
    const host = row.host ?? SOURCE;
    await row.given?.(test, capture);
    const client = await RecordedClient.on(test.cloud.computeApi.transport);
    await client.send(capture, host);
    await until(() => test.arrived.includes(`${capture.method} @ ${RPC_TOPIC}.${host}`));
    if (capture.kind === 'call') await until(() => client.answer !== undefined);
    await turn();
    if (row.fault !== true) expect(refusalsOf(test, log, host)).to.deep.equal([]);
    if (capture.kind === 'call') checkAnswer(client.answer, capture);
    await row.then?.(test, capture);
    await test.idle(host);
    expect(client.replies).to.have.length(capture.kind === 'call' ? 1 : 0);
  });
}

/** In the middle of a flow of ours the recorded request takes the place of our own. */
async function replayInFlow(capture: Capture, flow: CapturedFlow): Promise<void> {
  const log = new CapturedLog();
  await withFlow(flow, capture, { logger: log }, async (test) => {
    const client = await RecordedClient.on(test.cloud.computeApi.transport);
    const host = flow.host ?? SOURCE;
    await client.send(capture, host);
    await until(() => test.arrived.includes(`${capture.method} @ ${RPC_TOPIC}.${host}`));
    await turn();
    expect(refusalsOf(test, log, host)).to.deep.equal([]);
  });
}

const captures = readCaptures();

describe('a compute host, given what a real Nova client sent', function () {
  this.timeout(10_000);

  it('is given each recorded request', () => {
    expect([...CAPTURED_ROWS.keys()].sort()).to.deep.equal(captures.map(({ name }) => name).sort());
    const inFlows = [...CAPTURED_ROWS]
      .filter(([, { receiver }]) => receiver === 'flow')
      .map(([name]) => name);
    expect([...CAPTURED_FLOWS.keys()].sort()).to.deep.equal(inFlows.sort());
  });

  it('has every recorded method in its table', () => {
    const unknown = captures.map(({ method }) => method).filter((method) => !computeMethods.has(method));
    expect(unknown).to.deep.equal(['no_such_method', '_secret']);
  });

  for (const capture of captures) {
    const row = CAPTURED_ROWS.get(capture.name);
    const flow = CAPTURED_FLOWS.get(capture.name);
    if (flow) it(`goes on as if we had sent it: ${capture.name}`, () => replayInFlow(capture, flow));
    if (row?.receiver !== 'host' || capture.name.includes('heartbeats')) continue;
    it(`answers as recorded: ${capture.name}`, () => replayOnHost(capture, row));
  }

  for (const name of ['v26-call-to-absent-host', 'v26-cast-to-absent-host']) {
    it(`is not there, and nobody answers: ${name}`, () =>
      withHosts(async (test) => {
        const capture = captureOf(name);
        const client = await RecordedClient.on(test.cloud.computeApi.transport);
        await client.send(capture, capture.server);
        await client.send(captureOf('v26-get_host_uptime'), SOURCE);
        await until(() => client.answer !== undefined);
        expect(client.replies.map(({ _msg_id }) => _msg_id)).to.not.include(capture.request['_msg_id']);
        expect(capture.replies).to.deep.equal([]);
      }));
  }

  it('gives a sign of life twice per interval while it works, then the result: v26-cache_images-with-heartbeats', () =>
    withHosts(async (test) => {
      const capture = captureOf('v26-cache_images-with-heartbeats');
      const beats = capture.replies.filter(({ ending }) => ending === false);
      expect(beats).to.have.length(3);
      const hold = test.virt(SOURCE).steps.hold('cache-image');
      const client = await RecordedClient.on(test.cloud.computeApi.transport);
      const startedAt = performance.now();
      await client.send(capture, SOURCE, { _timeout: 0.2 }); // a tenth of what it was: as many beats, in less time
      await hold.reached;
      await until(() => client.replies.length === beats.length);
      expect(performance.now() - startedAt).to.be.greaterThan(250);
      hold.release();
      await until(() => client.answer !== undefined);
      const [first] = client.replies;
      expect(Object.keys(first ?? {})).to.have.members(Object.keys(beats[0] ?? {}));
      expect(first).to.include({ result: null, failure: null, ending: false });
      expect(client.replies.at(-1)).to.equal(client.answer);
      checkAnswer(client.answer, capture);
      const ids = capture.args['image_ids'] as string[]; // as recorded
      expect(client.answer?.['result']).to.have.all.keys(ids);
      expect(Object.values(client.answer?.['result'] as object)).to.deep.equal(ids.map(() => 'cached'));
    }));

  it('tells which images were there already, and which cannot be had', () =>
    withHosts(async (test) => {
      const cache = (...ids: string[]) =>
        test.cloud.computeApi.call({}, 'cache_images', SOURCE, { image_ids: ids });
      expect(await cache('a')).to.deep.equal({ a: 'cached' });
      test.virt(SOURCE).steps.failNext('cache-image', new HypervisorError('no room'));
      expect(await cache('a', 'b', 'c')).to.deep.equal({ a: 'existing', b: 'error', c: 'cached' });
    }));

  it('names its errors as Nova does where Nova has them, so that a Nova client gets its own', () =>
    withHosts(async (test) => {
      const capture = captureOf('v26-check_can_live_migrate_destination');
      const client = await RecordedClient.on(test.cloud.computeApi.transport);
      await client.send(capture, DEST); // and the guest is not at its source
      await until(() => client.answer !== undefined);
      expect(failureIn(client.answer)).to.deep.include({
        name: 'MigrationPreCheckError',
        module: 'nova.exception',
        message: 'The guest is not here',
        args: ['The guest is not here'],
      });
    }));

  it('answers the base interface on both of its topics', () =>
    withHosts(async (test) => {
      for (const server of [SOURCE, DEST]) {
        for (const topic of ['compute', 'compute-ops']) {
          const target = { topic, server, namespace: 'baseapi', version: '1.1' };
          const client = new RpcClient(test.cloud.computeApi.transport, target);
          expect(await client.call({}, 'ping', { arg: 7 })).to.deep.equal({ service: 'compute', arg: 7 });
          expect(await client.call({}, 'get_backdoor_port')).to.equal(null);
        }
      }
    }));
});

function captureOf(name: string): Capture {
  const found = captures.find((capture) => capture.name === name);
  if (!found) throw new RangeError(`There is no capture ${name}`);
  return found;
}

import {
  type NotificationEndpoint,
  NotificationListener,
  type NotificationListenerOptions,
  Notifier,
  PRIORITIES,
  type ReceivedNotification,
  REQUEUE,
} from '@ebbgate/notify';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { eventually, within } from '../support/rigs/deadline.js';
import type { OsloHandling, OsloPeer } from '../support/rigs/python-oslo.js';
import { LIMIT_MS, Live } from './live.js';

/** What cannot come through JSON unharmed would be seen here. */
const PAYLOAD = {
  id: 'ö/\ud83d\ude00',
  big: 12_345_678_901,
  list: [1, null, 'x'],
  deep: { a: { b: false } },
};

describe('notifications between Python and ours', function () {
  this.timeout(60_000);
  let live: Live;
  let python: OsloPeer;
  const listeners: NotificationListener[] = [];

  before(async () => {
    live = await Live.start();
    python = await live.python();
  });

  after(async () => {
    await Promise.all(listeners.map((listener) => listener.stop()));
    await Promise.all(listeners.map((listener) => listener.wait({ timeoutMs: LIMIT_MS })));
    await live.close();
  });

  async function listen(
    topic: string,
    endpoint: NotificationEndpoint,
    options: NotificationListenerOptions & { readonly batch?: undefined } = {},
  ): Promise<void> {
    const listener = new NotificationListener(live.transport, [{ topic }], [endpoint], options);
    listeners.push(listener);
    await listener.start();
  }

  /** An endpoint for all priorities, and what it was given. */
  function collecting(result: (seen: number) => unknown = () => undefined): {
    readonly seen: ReceivedNotification[];
    readonly endpoint: NotificationEndpoint;
  } {
    const seen: ReceivedNotification[] = [];
    const handle = (_context: unknown, notification: ReceivedNotification): unknown => {
      seen.push(notification);
      return result(seen.length);
    };
    return { seen, endpoint: Object.fromEntries(PRIORITIES.map((priority) => [priority, handle])) };
  }

  function pythonGot(level: string): Promise<OsloHandling> {
    return within(`${level} at Python`, LIMIT_MS, python.handling(level));
  }

  it('a listener of ours hears the drivers messaging and messagingv2 of Python alike, at every priority', async () => {
    const { seen, endpoint } = collecting();
    await listen('to-ours', endpoint);
    for (const driver of ['messaging', 'messagingv2'] as const) {
      for (const priority of PRIORITIES) {
        await python.send({
          ...{ command: 'notify', driver, priority, event_type: `${driver}.${priority}`, payload: PAYLOAD },
          ...{
            topics: ['to-ours'],
            publisher_id: 'py.host1',
            context: { request_id: 'req-1', user_id: 'u' },
          },
        });
      }
    }
    await eventually('all of them', LIMIT_MS, () => seen.length === 2 * PRIORITIES.length);
    expect(seen.map(({ eventType }) => eventType)).to.have.members(
      ['messaging', 'messagingv2'].flatMap((driver) => PRIORITIES.map((priority) => `${driver}.${priority}`)),
    );
    for (const { publisherId, payload, context, priority, eventType } of seen) {
      expect({ publisherId, payload }).to.deep.equal({ publisherId: 'py.host1', payload: PAYLOAD });
      expect(context.values).to.include({ request_id: 'req-1', user_id: 'u' });
      expect(eventType.endsWith(`.${priority}`)).to.equal(true);
    }
  });

  it('a Python listener hears our drivers messaging and messagingv2 alike, and no token (W36, SEC-05)', async () => {
    await python.send({ command: 'start_listener', name: 'py', topics: ['to-py'], priorities: PRIORITIES });
    for (const driver of ['messaging', 'messagingv2'] as const) {
      const notifier = new Notifier(live.transport, {
        topics: ['to-py'],
        publisherId: 'js.host1',
        drivers: [driver],
      });
      for (const priority of PRIORITIES) {
        const context = { user_id: 'u', auth_token: 'secret' };
        await notifier.notify(priority, context, `${driver}.${priority}`, PAYLOAD);
        const { context: got, args, topic } = await pythonGot(priority);
        expect(got).to.include({ user_id: 'u' }).and.not.have.property('auth_token');
        expect(args).to.deep.include({ publisher_id: 'js.host1', payload: PAYLOAD });
        expect(topic).to.equal(`${driver}.${priority}`);
      }
    }
  });

  it('what nobody listens to yet waits for either side', async () => {
    await new Notifier(live.transport, { topics: ['early-js'] }).info({}, 'early.js', 1);
    const early = { event_type: 'early.py', payload: 2, topics: ['early-py'] };
    await python.send({ command: 'notify', driver: 'messagingv2', priority: 'info', ...early });
    const { seen, endpoint } = collecting();
    await listen('early-py', endpoint);
    await python.send({
      command: 'start_listener',
      name: 'late',
      topics: ['early-js'],
      priorities: ['info'],
    });
    expect((await pythonGot('info')).topic).to.equal('early.js');
    await eventually('ours', LIMIT_MS, () => seen.length === 1);
    expect(seen[0]?.eventType).to.equal('early.py');
  });

  it('listeners of one pool share its queue, ours and theirs, and those of another get a copy', async () => {
    const [ours, other] = [collecting(), collecting()];
    const pool = { topics: ['pooled'], priorities: ['warn'] };
    await listen(
      'pooled',
      { warn: (...args) => ours.endpoint.warn?.(...args) },
      { pool: 'shared', slots: 1 },
    );
    await listen('pooled', { warn: (...args) => other.endpoint.warn?.(...args) }, { pool: 'other' });
    await python.send({ command: 'start_listener', name: 'pooled', pool: 'shared', ...pool });
    const notifier = new Notifier(live.transport, { topics: ['pooled'] });
    for (let n = 0; n < 20; n += 1) await notifier.warn({}, 'pooled', n);
    await eventually('a copy of each', LIMIT_MS, () => other.seen.length === 20);
    const theirs = (): OsloHandling[] => python.handled.filter(({ topic }) => topic === 'pooled');
    await eventually('each once', LIMIT_MS, () => ours.seen.length + theirs().length === 20);
    expect(theirs()).to.have.length.greaterThan(0);
    expect(ours.seen).to.have.length.greaterThan(0);
    const payloads = [
      ...ours.seen.map(({ payload }) => payload),
      ...theirs().map(({ args }) => args['payload']),
    ];
    expect(new Set(payloads).size).to.equal(20);
  });

  it('what a Python listener hands back comes again, to ours when it has gone', async () => {
    const name = 'back';
    await python.send({
      command: 'start_listener',
      name,
      topics: [name],
      priorities: ['error'],
      requeue: 1000,
    });
    await new Notifier(live.transport, { topics: [name] }).error({}, 'handed.back', 1);
    const [first, second] = [await pythonGot('error'), await pythonGot('error')];
    expect([first.topic, second.topic]).to.deep.equal(['handed.back', 'handed.back']);
    await python.send({ command: 'stop_server', name });
    await python.send({ command: 'wait_server', name });
    const { seen, endpoint } = collecting();
    await listen(name, { error: (...args) => endpoint.error?.(...args) });
    await eventually('ours', LIMIT_MS, () => seen.length === 1);
    expect(seen[0]?.payload).to.equal(1);
  });

  it('what ours hands back comes again, and a Python listener hears of it in the dead letters (W35, AMQP-28)', async () => {
    const { seen, endpoint } = collecting(() => REQUEUE);
    const options = { requeueDelayMs: 1, maxRequeues: 3, deadLetterTopic: 'dead' };
    await listen('poison', { critical: (...args) => endpoint.critical?.(...args) }, options);
    await python.send({
      command: 'start_listener',
      name: 'dead',
      topics: ['dead'],
      priorities: ['critical'],
    });
    const poison = { event_type: 'poison', payload: PAYLOAD, topics: ['poison'] };
    await python.send({ command: 'notify', driver: 'messaging', priority: 'critical', ...poison });
    const { topic, args } = await pythonGot('critical');
    expect([topic, args['payload']]).to.deep.equal(['poison', PAYLOAD]);
    expect(seen.map(({ attempts }) => attempts)).to.deep.equal([0, 1, 2, 3]);
  });
});

import { createTransport, RequestContext } from '@ebbgate/core';
import { NO_NOTIFICATIONS, type Notification, versionedNotifications } from '@ebbgate/compute';
import { untilAborted } from '#compute/notifications/compute-event.js';
import { NotificationOutbox } from '#compute/notifications/notification-outbox.js';
import { openNotifications } from '#compute/main/open-notifications.js';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { CapturedLog } from '../../support/captured-log.js';
import { type Deferred, deferred } from '../../support/deferred.js';
import { read } from './given-flags.js';
import { SOURCE, withCloud } from './test-cloud.js';

function notification(eventType: string): Notification {
  return {
    context: new RequestContext(),
    publisherId: 'nova-compute:h',
    eventType,
    priority: 'info',
    payload: {
      'nova_object.name': 'P',
      'nova_object.namespace': 'nova',
      'nova_object.version': '1.0',
      'nova_object.data': {},
    },
  };
}

/** A sink that keeps all waiting until it is told otherwise. */
class Stuck {
  readonly sent: string[] = [];
  readonly #waiting: Deferred<void>[] = [];

  send({ eventType }: Notification): Promise<void> {
    this.sent.push(eventType);
    const waiting = deferred();
    this.#waiting.push(waiting);
    return waiting.promise;
  }

  release(): void {
    for (const { resolve } of this.#waiting.splice(0)) resolve();
  }
}

describe('notifications on their way', () => {
  it('are sent in their order, and no more are kept than may be: the others are counted and logged once', async () => {
    const [sink, logger] = [new Stuck(), new CapturedLog()];
    const outbox = new NotificationOutbox({ sink, logger, most: 2 });
    for (const type of ['a', 'b', 'c', 'd']) outbox.put(() => notification(type));
    expect(sink.sent).to.deep.equal(['a', 'b']);
    expect(outbox.dropped).to.equal(2);
    expect(logger.at('warn').map(({ message }) => message)).to.deep.equal([
      'Too many notifications are on their way: others are dropped',
    ]);
    sink.release();
    await outbox.settle(4000);
    outbox.put(() => notification('e'));
    expect(sink.sent).to.deep.equal(['a', 'b', 'e']);
    expect(logger.at('warn').at(-1)?.fields).to.deep.equal({ dropped: 2 });
  });

  it('fail alone: neither a sink that throws nor a payload that cannot be made reaches whoever told', async () => {
    const logger = new CapturedLog();
    const outbox = new NotificationOutbox({
      sink: {
        send: () => {
          throw new Error('no broker');
        },
      },
      logger,
    });
    outbox.put(() => notification('a'));
    outbox.put(() => {
      throw new TypeError('no payload');
    });
    await outbox.settle(4000);
    expect(outbox.dropped).to.equal(2);
    expect(logger.at('warn').map(({ message }) => message)).to.deep.equal([
      'A notification was not sent',
      'A notification was not sent',
    ]);
  });

  it('are waited for no longer than for a moment at the end', async () => {
    const [sink, logger] = [new Stuck(), new CapturedLog()];
    const outbox = new NotificationOutbox({ sink, logger });
    outbox.put(() => notification('a'));
    await outbox.settle(1);
    expect(logger.at('warn')[0]?.fields).to.include({ underway: 1 });
  });

  it('hold up no flow and no drain while the broker takes none of them', () => {
    const [sink, logger] = [new Stuck(), new CapturedLog()];
    return withCloud({ notifications: versionedNotifications({ sink, logger }) }, async (test) => {
      const uuid = await test.bootActive();
      await test.migrate(uuid);
      await test.migrationBecomes(uuid, 'completed');
      const { report } = await test.cloud.host(SOURCE).terminate();
      expect(report.outcome).to.equal('clean');
      expect(sink.sent).to.include.members(['instance.create.end', 'instance.live_migration_post.end']);
      sink.release();
    });
  });

  it('are not made by a run that has ended', () => {
    const [told, end] = [[] as string[], new AbortController()];
    const emit = untilAborted<string>(end.signal, (event) => told.push(event));
    emit('before');
    end.abort();
    emit('after');
    expect(told).to.deep.equal(['before']);
  });
});

describe('the notifications of a daemon', () => {
  it('go nowhere unless that is asked for, as upstream', () => {
    const flags = read('compute', ['--state-dir', '/tmp/x']);
    expect(flags).to.include({
      notifications: 'none',
      notificationTopic: 'versioned_notifications',
      notifyOnStateChange: 'none',
    });
    const opened = openNotifications(
      flags as Parameters<typeof openNotifications>[0],
      () => createTransport('memory:'),
      new CapturedLog(),
    );
    expect(opened).to.equal(NO_NOTIFICATIONS);
  });

  it('can go into the log, each with its type, publisher and payload', () => {
    const log = new CapturedLog();
    const flags = {
      notifications: 'log',
      notificationTopic: 'versioned_notifications',
      notifyOnStateChange: 'none',
    } as const;
    const notifications = openNotifications(flags, () => createTransport('memory:'), log);
    return withCloud({ notifications }, async (test) => {
      await test.bootActive();
      await test.idle(SOURCE);
      const [line] = log.at('info');
      expect(line?.message).to.equal('instance.create.start');
      expect(line?.fields).to.include({ priority: 'info', publisherId: `nova-compute:${SOURCE}` });
      expect(line?.fields).to.have.nested.property('payload.nova_object\\.name', 'InstanceCreatePayload');
    });
  });

  for (const [flag, value, complaint] of [
    ['--notifications', 'all', '--notifications must be none, log or versioned'],
    ['--notification-topic', 'a b', '--notification-topic must be'],
    [
      '--notify-on-state-change',
      'yes',
      '--notify-on-state-change must be none, vm_state or vm_and_task_state',
    ],
  ] as const) {
    it(`refuse ${flag} ${value}`, () => {
      expect(() => read('conductor', [flag, value])).to.throw(complaint);
    });
  }
});

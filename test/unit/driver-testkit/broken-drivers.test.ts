import {
  type Delivery,
  type Destination,
  memoryDriver,
  type ServerSource,
  type WireMessage,
} from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { broken, delivery, listener, WrappedDriver } from './broken-driver.js';
import { failuresOf } from './collecting-runner.js';

/** What is wrong with a driver, how, and the title of one test that must see it. */
type Fault = readonly [what: string, wrap: Parameters<typeof broken>[0], seenBy: RegExp];

const never = (): Promise<never> => new Promise(() => undefined);

/** Joins the parts of an address as a careless driver does. */
function joined({ exchange, topic, server }: ServerSource): ServerSource {
  return { exchange, topic: '', server: `${topic}.${server}` };
}

const FAULTS: readonly Fault[] = [
  [
    'loses every tenth message',
    (inner) => {
      let count = 0;
      return new (class extends WrappedDriver {
        override publish: WrappedDriver['publish'] = (destination, message, options) =>
          (count += 1) % 10 === 0 ? undefined : inner.publish(destination, message, options);
      })(inner);
    },
    /arrive once each/,
  ],
  [
    'delivers every message twice',
    (inner) =>
      new (class extends WrappedDriver {
        override listen: WrappedDriver['listen'] = (source, options, onDelivery) =>
          inner.listen(source, options, (one) => {
            onDelivery(one);
            queueMicrotask(() => {
              onDelivery(one);
            });
          });
      })(inner),
    /arrive once each/,
  ],
  [
    'ignores credit',
    (inner) =>
      new (class extends WrappedDriver {
        override listen: WrappedDriver['listen'] = (source, _options, onDelivery) =>
          inner.listen(source, { credit: 1000 }, onDelivery);
      })(inner),
    /never more than 1 unsettled/,
  ],
  [
    'delivers after stop()',
    (inner) =>
      new (class extends WrappedDriver {
        override listen: WrappedDriver['listen'] = async (source, options, onDelivery) =>
          listener(await inner.listen(source, options, onDelivery), { stop: () => Promise.resolve() });
      })(inner),
    /sent after stop\(\) has resolved goes to siblings/,
  ],
  [
    'resolves publish() before the broker has the message',
    (inner) =>
      new (class extends WrappedDriver {
        override publish: WrappedDriver['publish'] = (destination, message, options) => {
          try {
            void inner.publish(destination, message, options)?.catch(() => undefined);
          } catch (error) {
            return Promise.reject(error);
          }
        };
      })(inner),
    /does not resolve before the broker has confirmed/,
  ],
  [
    'never resolves publish() for replies',
    (inner) =>
      new (class extends WrappedDriver {
        override publish: WrappedDriver['publish'] = (destination, message, options) =>
          destination.kind === 'reply' ? never() : inner.publish(destination, message, options);
      })(inner),
    /a reply reaches the queue/,
  ],
  [
    'misroutes names with dots',
    (inner) =>
      new (class extends WrappedDriver {
        override publish: WrappedDriver['publish'] = (destination, message, options) =>
          inner.publish(
            destination.kind === 'server' ? { ...joined(destination), kind: 'server' } : destination,
            message,
            options,
          );
        override listen: WrappedDriver['listen'] = async (source, options, onDelivery) => {
          const mine = await inner.listen(source, options, onDelivery);
          const server = await inner.listen(joined(source), options, onDelivery);
          const both = (verb: 'stop' | 'pause' | 'resume') => async (): Promise<void> => {
            await Promise.all([mine[verb](), server[verb]()]);
          };
          const close = async (): Promise<readonly string[]> =>
            (await Promise.all([mine.close(), server.close()])).flat();
          return listener(mine, { stop: both('stop'), pause: both('pause'), resume: both('resume'), close });
        };
      })(inner),
    /differ only by a dot between topic and server/,
  ],
  [
    'shares one object between the receivers of a fanout',
    (inner) =>
      new (class extends WrappedDriver {
        override publish: WrappedDriver['publish'] = (destination, message, options) => {
          const { body } = message;
          const shared = {
            encode: () => body.encode(),
            local: body.local,
            size: body.size,
            fork: () => shared,
          };
          return inner.publish(destination, { ...message, body: shared }, options);
        };
      })(inner),
    /receivers of a fanout share no object/,
  ],
  [
    'sends replies to the queue that was opened last',
    (inner) =>
      new (class extends WrappedDriver {
        override openReplyQueue: WrappedDriver['openReplyQueue'] = async (onReply) => {
          const queue = await inner.openReplyQueue(onReply);
          last = queue.address;
          return queue;
        };
        override publish: WrappedDriver['publish'] = (destination, message, options) =>
          inner.publish(
            destination.kind === 'reply' ? { kind: 'reply', address: last } : destination,
            message,
            options,
          );
      })(inner),
    /a reply reaches the queue whose address/,
  ],
  [
    'does not tell that a message cannot be delivered',
    (inner) =>
      new (class extends WrappedDriver {
        override publish: WrappedDriver['publish'] = (destination, message, options) =>
          inner.publish(destination, message, { ...options, mandatory: false });
      })(inner),
    /never listened on is undeliverable/,
  ],
  [
    'settles deliveries whose channel is gone',
    (inner) =>
      new (class extends WrappedDriver {
        override listen: WrappedDriver['listen'] = (source, options, onDelivery) =>
          inner.listen(source, options, (one) => {
            onDelivery(delivery(one, { accept: () => lies(one) }));
          });
      })(inner),
    /accept\(\) after its connection was lost does nothing/,
  ],
  [
    'drops what is released',
    (inner) =>
      new (class extends WrappedDriver {
        override listen: WrappedDriver['listen'] = (source, options, onDelivery) =>
          inner.listen(source, options, (one) => {
            onDelivery(delivery(one, { release: () => void one.accept() }));
          });
      })(inner),
    /release\(\) gives a message back/,
  ],
  [
    'delivers messages after their deadline',
    (inner) =>
      new (class extends WrappedDriver {
        override publish: WrappedDriver['publish'] = (destination, message, options) =>
          inner.publish(destination, { ...message, deadline: undefined }, options);
      })(inner),
    /does not deliver a message after its deadline/,
  ],
  [
    'delivers from within publish()',
    (inner) => {
      const open = new Map<string, (one: Delivery) => void>();
      const key = (at: Destination): string => (at.kind === 'server' ? `${at.topic} ${at.server}` : '');
      return new (class extends WrappedDriver {
        override listen: WrappedDriver['listen'] = (source, options, onDelivery) => {
          open.set(`${source.topic} ${source.server}`, onDelivery);
          return inner.listen(source, options, onDelivery);
        };
        override publish: WrappedDriver['publish'] = (destination, message, options) => {
          const onDelivery = open.get(key(destination));
          if (!onDelivery) return inner.publish(destination, message, options);
          onDelivery(settled(message));
        };
      })(inner);
    },
    /from within another call of the driver/,
  ],
  [
    'says nothing of a lost subscription',
    (inner) =>
      new (class extends WrappedDriver {
        override status: WrappedDriver['status'] = () => {
          const { connection, listeners } = inner.status();
          return { connection, listeners: listeners.map(({ source }) => ({ source, subscribed: true })) };
        };
      })(inner),
    /the loss of a subscription and its return are told/,
  ],
  [
    'hangs in close() while a send waits',
    (inner) => {
      let waiting = 0;
      return new (class extends WrappedDriver {
        override publish: WrappedDriver['publish'] = async (destination, message, options) => {
          waiting += 1;
          await inner.publish(destination, message, options);
          waiting -= 1;
        };
        override close: WrappedDriver['close'] = () => (waiting > 0 ? never() : inner.close());
      })(inner);
    },
    /close\(\) during an outage ends what waits/,
  ],
];

let last = '';

/** Accepts, and says so whatever came of it. */
function lies(one: Delivery): true {
  void one.accept();
  return true;
}

/** Settled already, whatever is done with it. */
function settled(message: WireMessage): Delivery {
  const nothing = (): void => undefined;
  return { message, redelivered: false, accept: () => true, release: nothing, reject: nothing };
}

describe('the conformance suite', () => {
  it('passes a driver that only hands on (style rule 22)', async () => {
    expect(
      (
        await failuresOf(
          broken((inner) => new WrappedDriver(inner)),
          undefined,
          2000,
        )
      ).join('\n'),
    ).to.equal('');
  }).timeout(20_000);

  it('passes the in-memory driver when its tests run together (style rule 22)', async () => {
    expect((await failuresOf(memoryDriver, undefined, 2000)).join('\n')).to.equal('');
  }).timeout(20_000);

  for (const [what, wrap, seenBy] of FAULTS) {
    it(`catches a driver that ${what} (style rule 22)`, async () => {
      const failed = await failuresOf(broken(wrap), ({ title }) => seenBy.test(title));
      expect(failed).to.have.lengthOf.at.least(1);
      expect(failed[0]).to.match(seenBy);
    });
  }
});

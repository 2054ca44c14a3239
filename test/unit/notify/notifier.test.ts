import {
  ConfigurationError,
  createTransport,
  RequestContext,
  runWithContext,
  SerializationError,
} from '@ebbgate/core';
import { type Notification, Notifier, PRIORITIES } from '@ebbgate/notify';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { rejectionOf, until } from '../../support/deferred.js';
import { Collecting, useNotifyBed } from '../../support/notify-bed.js';
import { FORMS } from '../../support/rpc-bed.js';
import { scriptedTransport } from '../core/support/scripted-driver.js';

for (const form of FORMS) {
  describe(`a notifier, messages as ${form}`, () => {
    const bed = useNotifyBed(form);

    for (const driver of ['messaging', 'messagingv2'] as const) {
      it(`sends every priority to those who listen, by the driver ${driver}`, async () => {
        const all = new Collecting(PRIORITIES);
        await bed().listen([all.endpoint]);
        const notifier = bed().notifier({ drivers: [driver] });
        for (const priority of PRIORITIES)
          await notifier[priority]({ user_id: 'u' }, `did.${priority}`, { n: 1 });
        await until(() => all.seen.length === PRIORITIES.length);
        for (const [index, priority] of PRIORITIES.entries()) {
          const seen = all.seen[index];
          expect(seen).to.deep.include({
            priority,
            eventType: `did.${priority}`,
            payload: { n: 1 },
            attempts: 0,
          });
          expect(seen).to.include({ publisherId: 'compute.host1' });
          expect(seen?.context.values).to.deep.include({ user_id: 'u' });
          expect(seen?.messageId).to.match(/^[0-9a-f-]{36}$/);
          expect(seen?.timestamp).to.match(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$/);
        }
      });
    }

    it('keeps a notification until somebody listens', async () => {
      await bed().notifier().info({}, 'early', 'here');
      const late = new Collecting();
      await bed().listen([late.endpoint]);
      await until(() => late.seen.length === 1);
      expect(late.payloads).to.deep.equal(['here']);
    });

    it('sends one notification to each of its topics, under the same id', async () => {
      const [one, two] = [new Collecting(), new Collecting()];
      await bed().listen([one.endpoint], {}, [{ topic: 'one' }]);
      await bed().listen([two.endpoint], {}, [{ topic: 'two' }]);
      await bed()
        .notifier({ topics: ['one', 'two'] })
        .info({}, 'e', null);
      await until(() => one.seen.length + two.seen.length === 2);
      expect(one.seen[0]?.messageId).to.equal(two.seen[0]?.messageId);
    });

    it('sends no member of a context that is not allowed, nor an object under an allowed name (SEC-05)', async () => {
      const got = new Collecting();
      await bed().listen([got.endpoint]);
      const context = {
        ...{ user_id: 'u', roles: ['admin'], is_admin: true, request_id: 'req-1', billing: 7, tenant: 't' },
        ...{ auth_token: 'secret', service_catalog: [{}], user: { password: 'secret' }, token: 'secret' },
      };
      await bed()
        .notifier({ contextMembers: ['billing'] })
        .info(context, 'e', null);
      await until(() => got.seen.length === 1);
      expect({ ...got.seen[0]?.context.values }).to.deep.equal({
        ...{ user_id: 'u', roles: ['admin'], is_admin: true, request_id: 'req-1', billing: 7 },
      });
    });

    it('sends no member that a serializer puts into the context (SEC-05)', async () => {
      const got = new Collecting();
      await bed().listen([got.endpoint]);
      const serializer = {
        serializeEntity: (_context: object, entity: unknown) => ({ wrapped: entity }),
        deserializeEntity: (_context: object, entity: unknown) => entity,
        serializeContext: (context: object) => ({ ...context, auth_token: 'secret' }),
        deserializeContext: (context: Readonly<Record<string, unknown>>) => context,
      };
      await bed().notifier({ serializer }).info({ user_id: 'u' }, 'e', 1);
      await until(() => got.seen.length === 1);
      expect({ ...got.seen[0]?.context.values }).to.deep.equal({ user_id: 'u' });
      expect(got.payloads).to.deep.equal([{ wrapped: 1 }]);
    });

    it('takes the context of the request being served when it is given none', async () => {
      const got = new Collecting();
      await bed().listen([got.endpoint]);
      const context = new RequestContext({ request_id: 'req-7' });
      await runWithContext(context, () => bed().notifier().info(undefined, 'e', 1));
      await until(() => got.seen.length === 1);
      expect(got.seen[0]?.context.requestId).to.equal('req-7');
    });

    it('rejects when the broker has not stored it, and counts that', async () => {
      const notifier = bed().notifier({ timeoutMs: 20 });
      await notifier.info({}, 'e', 1);
      bed().faults.cut();
      expect(await rejectionOf(notifier.info({}, 'e', 2))).to.include({ code: 'ERR_DELIVERY' });
      bed().faults.restore();
      expect(notifier.counts).to.deep.equal({ sent: 1, failed: 1, dropped: 0, pending: 0 });
    });

    it('refuses a payload that cannot be sent before anything is sent', async () => {
      const error = await rejectionOf(
        bed()
          .notifier()
          .info({}, 'e', { f: () => 1 }),
      );
      expect(error).to.be.instanceOf(SerializationError);
      expect(error.message).to.include('payload.f');
    });
  });
}

describe('a notifier', () => {
  const bed = useNotifyBed();

  it('prepared with other parameters leaves the first one as it is, and counts with it', async () => {
    const got = new Collecting();
    await bed().listen([got.endpoint]);
    const first = bed().notifier();
    const second = first.prepare({ publisherId: 'other', timeoutMs: 500 });
    await second.info({}, 'e', 2);
    await first.info({}, 'e', 1);
    await second.prepare({ publisherId: null }).info({}, 'e', 3);
    await until(() => got.seen.length === 3);
    expect(got.seen.map(({ publisherId, payload }) => [publisherId, payload])).to.deep.equal([
      ['other', 2],
      ['compute.host1', 1],
      [null, 3],
    ]);
    expect(first.counts.sent).to.equal(3);
  });

  it('gives each notification to all of its drivers, and says so when one has failed', async () => {
    const seen: Notification[] = [];
    const failing = { notify: () => Promise.reject(new Error('no room')) };
    const notifier = bed().notifier({ drivers: [failing, 'test', { notify: (one) => void seen.push(one) }] });
    expect((await rejectionOf(notifier.info({}, 'e', 1))).message).to.equal('no room');
    expect(notifier.recorded).to.deep.equal(seen);
    expect(seen).to.have.lengthOf(1);
  });

  it('writes to the log with the driver log, secrets masked', async () => {
    const notifier = bed().notifier({ drivers: ['log'] });
    await notifier.critical({}, 'it.broke', { password: 'hunter2', deep: [{ api_key: 'k', n: 1 }] });
    const [line] = bed().log.at('error');
    expect(line?.message).to.equal('oslo.messaging.notification.it.broke');
    const { notification } = line?.fields as { notification: Notification };
    expect(notification.payload).to.deep.equal({ password: '***', deep: [{ api_key: '***', n: 1 }] });
  });

  it('is enabled unless it does nothing, and then sends nothing', async () => {
    const off = bed().notifier({ drivers: ['noop'] });
    const got = new Collecting();
    await bed().listen([got.endpoint]);
    await off.info({}, 'e', 1);
    await bed().notifier().info({}, 'e', 2);
    await until(() => got.seen.length > 0);
    expect(got.payloads).to.deep.equal([2]);
    expect([off.isEnabled, bed().notifier().isEnabled]).to.deep.equal([false, true]);
  });

  for (const [what, options, text] of [
    ['an unknown option', { topic: 'x' }, '"topic"'],
    ['an unknown driver', { drivers: ['kafka'] }, '"kafka"'],
    ['a driver that cannot notify', { drivers: [{}] }, 'notify'],
    ['no topic', { topics: [] }, 'topics'],
    ['a member of the context that speaks of a secret', { contextMembers: ['auth_token'] }, 'auth_token'],
    ['a bad bound', { maxPending: -1 }, 'maxPending'],
    ['routing without its file', { drivers: ['routing'] }, 'routingFile'],
  ] as const) {
    it(`refuses ${what} when it is made (CORE-09)`, () => {
      expect(() => new Notifier(bed().transport, options as object)).to.throw(ConfigurationError, text);
    });
  }

  it('is refused on a transport whose driver has no notifications', async () => {
    const { transport } = scriptedTransport();
    expect(() => new Notifier(transport)).to.throw(ConfigurationError, 'has no notifications');
    await transport.close();
  });

  it('is done with a transport that is closed', async () => {
    const transport = createTransport('memory:');
    const notifier = new Notifier(transport);
    await transport.close();
    expect(await rejectionOf(notifier.info({}, 'e', 1))).to.include({ code: 'ERR_TRANSPORT_CLOSED' });
  });
});

import { inspect } from 'node:util';
import { Deadline, type DriverStatus, MessageDeliveryError, type Transport } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { rejectionOf } from '../../support/deferred.js';
import { onFakeClock } from '../../support/fake-clock.js';
import { MemoryBed, TOPIC } from './support/memory-bed.js';
import { type ScriptedDriver, scriptedTransport, SOURCE, wireMessage } from './support/scripted-driver.js';

const SECRET = 's3cret-hunter2';
const URL_TEXT = `scripted://user:${SECRET}@host:5672/vhost`;
const AWAY: DriverStatus = { connection: 'connecting', listeners: [] };

/** Of a client library that knows no discretion. */
function reason(what: string): Error {
  return Object.assign(new Error(`${what} at ${URL_TEXT}`), { options: { password: SECRET } });
}

async function sent(transport: Transport): Promise<void> {
  const deadline = Deadline.after(300);
  await transport.publish(TOPIC, wireMessage(), { deadline, mandatory: true, retry: undefined });
}

/** What `use` is rejected with when the driver never connects, and does something meanwhile. */
async function timedOut(
  use: (transport: Transport) => Promise<unknown>,
  meanwhile: (driver: ScriptedDriver) => void,
): Promise<MessageDeliveryError> {
  let error: unknown;
  await onFakeClock(async (clock) => {
    const { transport, driver } = scriptedTransport({ sendTimeoutMs: 500 }, URL_TEXT);
    driver.onConnect = () => new Promise(() => {});
    driver.now = AWAY;
    const failed = rejectionOf(use(transport));
    await clock.tickAsync(100);
    meanwhile(driver);
    await clock.tickAsync(600);
    await transport.close();
    error = await failed;
  });
  if (error instanceof MessageDeliveryError) return error;
  throw new TypeError('It is another error', { cause: error });
}

describe('what takes too long while there is no connection', () => {
  const uses: Readonly<Record<string, (transport: Transport) => Promise<unknown>>> = {
    connect: (transport) => transport.connect(),
    listen: (transport) => transport.listen(SOURCE, { credit: 1 }, () => {}),
    openReplyQueue: (transport) => transport.openReplyQueue(() => {}),
    publish: sent,
  };

  for (const [name, use] of Object.entries(uses)) {
    it(`${name}: says why there is none, as it was told last, without secrets (AMQP-20, SEC-04)`, async () => {
      const error = await timedOut(use, ({ context: { events } }) => {
        events.connection('disconnected', reason('no route'));
        events.connection('connecting');
        events.connection('disconnected', reason('certificate has expired'));
        events.connection('connecting');
      });
      expect([error.code, error.outcome]).to.deep.equal(['ERR_DELIVERY', 'not-sent']);
      expect(error.message).to.contain('Not connected').and.contain('certificate has expired');
      expect(error.cause).to.be.instanceOf(Error).with.property('message').that.contains('has expired');
      expect(inspect(error, { depth: 20, showHidden: true })).not.to.contain(SECRET);
    });
  }

  it('says what the status of the driver says, where that tells a cause, without secrets (AMQP-20, SEC-04)', async () => {
    const error = await timedOut(uses['connect'] ?? sent, (driver) => {
      driver.context.events.connection('disconnected', reason('no route'));
      driver.now = { ...AWAY, cause: reason('certificate has expired') };
    });
    expect(error.message).to.contain('certificate has expired').and.not.contain('no route');
    expect(inspect(error, { depth: 20, showHidden: true })).not.to.contain(SECRET);
  });

  it('says no reason where there is none: nothing was told, or the connection is there (AMQP-20)', async () => {
    for (const meanwhile of [
      () => undefined,
      (driver: ScriptedDriver): void => {
        driver.context.events.connection('disconnected', reason('no route'));
        driver.context.events.connection('connected');
      },
      (driver: ScriptedDriver): void => {
        driver.now = { ...AWAY, connection: 'connected', cause: reason('no route') };
      },
    ]) {
      const error = await timedOut(uses['connect'] ?? sent, meanwhile);
      expect(error.message).to.match(/^Not connected to the broker within 500 ms$/);
      expect(error.cause).to.equal(undefined);
    }
  });

  it('has no secret in the cause that a status shows (SEC-04)', () => {
    const { transport, driver } = scriptedTransport({}, URL_TEXT);
    driver.now = { ...AWAY, cause: reason('no route') };
    expect(transport.status().cause?.message).to.contain('no route');
    expect(inspect(transport.status(), { depth: 20, showHidden: true })).not.to.contain(SECRET);
  });

  it('a send on a memory transport that was cut says so (AMQP-20, CORE-06)', async () => {
    const bed = new MemoryBed();
    const transport = bed.transport();
    await transport.connect();
    bed.faults.cut();
    const error = await rejectionOf(sent(transport));
    expect(error.message).to.contain('Not connected').and.contain('The connection was cut');
    expect(error.cause).to.be.instanceOf(Error);
    await transport.close();
  });
});

import {
  COMPUTE_EVENTS,
  type Notification,
  type NotificationSink,
  type StateChanges,
  versionedNotifications,
} from '@ebbgate/compute';
import type { CloudOptions } from '#compute/main-job/cloud.js';
import { silentLogger } from '@ebbgate/core';
import { expect } from 'chai';
import { allIdle } from './resize-words.js';
import { type TestCloud, withCloud } from './test-cloud.js';

/** A notifier that keeps what it is told. */
export class Told implements NotificationSink {
  readonly all: Notification[] = [];

  send(notification: Notification): Promise<void> {
    this.all.push(notification);
    return Promise.resolve();
  }

  /** As `power_off.start @ compute-a`: of what instances, of which host. */
  get words(): readonly string[] {
    return this.all.map(({ eventType, publisherId }) => {
      return `${eventType.replace(/^instance\./, '')} @ ${publisherId.replace(/^nova-(compute:)?/, '')}`;
    });
  }

  /** The data of the first of a type. */
  data(eventType: string): Readonly<Record<string, unknown>> {
    const found = this.all.find((one) => one.eventType === eventType);
    if (!found) throw new RangeError(`${eventType} was not told`);
    return found.payload['nova_object.data'];
  }

  forget(): void {
    this.all.length = 0;
  }
}

/** Each is one that the catalogue has, with its priority, and its payload is as the catalogue says. */
export async function checkTold({ all }: Told): Promise<void> {
  for (const { eventType, priority, payload } of all) {
    const event = COMPUTE_EVENTS.events[eventType];
    expect(event, eventType).to.not.equal(undefined);
    expect(event?.priorities ?? ['info'], eventType).to.deep.equal([priority]);
    const outcome = await event?.payload['~standard'].validate(payload);
    expect(outcome?.issues ?? [], eventType).to.deep.equal([]);
  }
}

/** Runs `work` in a cloud of which everything is told; {@link checkTold} at the end. */
export async function withTold(
  options: Partial<CloudOptions> & { readonly stateChanges?: StateChanges },
  work: (test: TestCloud, told: Told) => Promise<void>,
): Promise<void> {
  const { stateChanges = 'none', ...wishes } = options;
  const told = new Told();
  const notifications = versionedNotifications({ sink: told, logger: silentLogger, stateChanges });
  await withCloud({ notifications, ...wishes }, async (test) => {
    notifications.ofRecords(test.cloud.records.events, 'conductor-1');
    await allIdle(test);
    told.forget(); // that the services have come
    await work(test, told);
  });
  await checkTold(told);
}

/** What is told from a moment when nothing happens until the next one. */
export async function toldDuring(
  test: TestCloud,
  told: Told,
  work: () => Promise<unknown>,
): Promise<readonly string[]> {
  await allIdle(test);
  told.forget();
  await work();
  await allIdle(test);
  return told.words;
}

/** An action at one host that goes well. */
export function wholeOf(action: string, host: string): readonly string[] {
  return [`${action}.start @ ${host}`, `${action}.end @ ${host}`];
}

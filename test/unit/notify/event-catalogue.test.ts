import { ConfigurationError, RequestContext } from '@ebbgate/core';
import { defineEvents, PRIORITIES, EventValidationError, type ReceivedEvent } from '@ebbgate/notify';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { z } from 'zod';

const catalogue = defineEvents({
  'disk.full': {
    payload: z.object({ disk: z.string(), percent: z.number().default(100) }),
    priorities: ['warn', 'error'],
    description: 'A disk has no room left',
  },
  'disk.added': { payload: z.object({ disk: z.string() }) },
});
const context = new RequestContext({ request_id: 'req-1' });

type Sent = readonly [priority: string, context: RequestContext, eventType: string, payload: unknown];

function recorder(): {
  readonly sent: Sent[];
  readonly notifier: Parameters<typeof catalogue.notifier<RequestContext>>[0];
} {
  const sent: Sent[] = [];
  const methods = PRIORITIES.map((priority) => [
    priority,
    async (ctxt: RequestContext, type: string, payload: unknown) => {
      sent.push([priority, ctxt, type, payload]);
    },
  ]);
  return { sent, notifier: Object.fromEntries(methods) };
}

/** What something rejects with. */
async function errorOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('a catalogue of events: sending', () => {
  it('gives the notifier what the schema makes of the payload, with type and priority', async () => {
    const { sent, notifier } = recorder();
    const typed = catalogue.notifier(notifier);
    await typed.warn(context, 'disk.full', { disk: 'vda' });
    await typed.info(context, 'disk.added', { disk: 'vdb' });
    expect(sent).to.deep.equal([
      ['warn', context, 'disk.full', { disk: 'vda', percent: 100 }],
      ['info', context, 'disk.added', { disk: 'vdb' }],
    ]);
  });

  it('sends nothing of a payload that does not fit, and names each place without its value', async () => {
    const { sent, notifier } = recorder();
    const wrong = { disk: 42, percent: 'hunter2' } as unknown as { disk: string };
    const error = await errorOf(catalogue.notifier(notifier).error(context, 'disk.full', wrong));
    expect(error).to.be.instanceOf(EventValidationError);
    expect(error).to.include({ code: 'ERR_EVENT_PAYLOAD', eventType: 'disk.full', outcome: 'not-sent' });
    expect((error as EventValidationError).issues.map(({ path }) => path)).to.deep.equal(['disk', 'percent']);
    expect(String(error)).to.include('disk.full').and.not.include('hunter2');
    expect(sent).to.deep.equal([]);
  });

  it('refuses other events and other priorities, when it runs and when it is compiled', async () => {
    const { sent, notifier } = recorder();
    const typed = catalogue.notifier(notifier);
    // @ts-expect-error -- the catalogue does not have it
    const unknown = typed.info(context, 'disk.gone', { disk: 'vda' });
    // @ts-expect-error -- it is sent with warn and error alone
    const quiet = typed.info(context, 'disk.full', { disk: 'vda' });
    // @ts-expect-error -- the disk is text
    const wrong = typed.warn(context, 'disk.full', { disk: 1 });
    expect(String(await errorOf(unknown))).to.include('no event "disk.gone"');
    expect(String(await errorOf(quiet))).to.include('not sent with the priority info');
    expect(await errorOf(wrong)).to.be.instanceOf(EventValidationError);
    expect(sent).to.deep.equal([]);
  });
});

function received(eventType: string, priority: string, payload: unknown): ReceivedEvent {
  const about = { publisherId: 'p:h', messageId: 'm', timestamp: 't', attempts: 0 };
  return { context, eventType, priority, payload, ...about };
}

describe('a catalogue of events: listening', () => {
  it('makes an endpoint with the priorities and the schemas of the events that are handled, and no others', () => {
    const endpoint = catalogue.endpoint({ 'disk.full': () => undefined });
    expect(Object.keys(endpoint)).to.deep.equal(['payloads', 'warn', 'error']);
    expect(endpoint.payloads).to.deep.equal({ 'disk.full': catalogue.events['disk.full'].payload });
  });

  it('hands an event to the handler of its type, and passes the answer on', () => {
    const seen: unknown[] = [];
    const endpoint = catalogue.endpoint({
      'disk.full': (ctxt, event) => {
        const { disk, percent }: { disk: string; percent: number } = event.payload;
        const level: 'warn' | 'error' = event.priority;
        seen.push([ctxt, level, event.eventType, event.publisherId, disk, percent]);
        return 'requeue';
      },
    });
    const event = received('disk.full', 'error', { disk: 'vda', percent: 100 });
    expect(endpoint.error?.(context, event)).to.equal('requeue');
    expect(seen).to.deep.equal([[context, 'error', 'disk.full', 'p:h', 'vda', 100]]);
  });

  it('leaves other events, and other priorities of its own, to others', () => {
    const seen: string[] = [];
    const endpoint = catalogue.endpoint({
      'disk.full': () => seen.push('full'),
      'disk.added': () => seen.push('added'),
    });
    expect(endpoint.info?.(context, received('disk.full', 'info', {}))).to.equal(undefined);
    expect(endpoint.warn?.(context, received('toString', 'warn', {}))).to.equal(undefined);
    expect(endpoint.info?.(context, received('disk.added', 'info', {}))).to.equal(1);
    expect(seen).to.deep.equal(['added']);
  });

  it('refuses handlers of events that it does not have', () => {
    const handlers = { 'disk.gone': () => undefined } as object;
    expect(() => catalogue.endpoint(handlers)).to.throw(TypeError, 'no event "disk.gone"');
  });
});

describe('the declaration of events', () => {
  const payload = z.object({});
  for (const [title, events, complaint] of [
    ['none at all', {}, 'at least one event'],
    ['a type with a blank', { 'a b': { payload } }, '"a b"'],
    ['a payload that is no schema', { a: { payload: {} } }, 'the event "a" must be a Standard Schema'],
    ['a priority that does not exist', { a: { payload, priorities: ['loud'] } }, 'The event "a" needs'],
    ['no priority', { a: { payload, priorities: [] } }, 'The event "a" needs'],
  ] as const) {
    it(`refuses ${title}, and names it`, () => {
      expect(() => defineEvents(events as unknown as Parameters<typeof defineEvents>[0])).to.throw(
        ConfigurationError,
        complaint,
      );
    });
  }
});

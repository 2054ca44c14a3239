import { randomUUID } from 'node:crypto';
import { Instance, type InstanceFields } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { MemoryMappings } from '#compute/db/instance-mappings.js';
import { EVENTS_ANSWER } from '#compute/http/external-event-routes.js';
import { CapturedLog } from '../../support/captured-log.js';
import { eventually } from '../../support/rigs/deadline.js';
import { refusalIn } from './http-asked.js';
import { type Answered, type HttpBed, withHttp } from './http-bed.js';

async function instance(bed: HttpBed, fields: Partial<InstanceFields> = {}): Promise<string> {
  const uuid = randomUUID();
  const active = { uuid, vm_state: 'active', task_state: null, host: 'a', deleted: false } as const;
  await bed.records.instances.create(Instance.create({ ...active, ...fields }));
  return uuid;
}

function post(bed: HttpBed, events: unknown, version = 'latest'): Promise<Answered> {
  return bed.send('POST', '/v2.1/os-server-external-events', { version, body: { events } });
}

/** Status of the answer, and what became of each event. */
async function told(bed: HttpBed, events: readonly object[]): Promise<string> {
  const { status, body } = await post(bed, events);
  expect(EVENTS_ANSWER.safeParse(body).error, JSON.stringify(body)).to.equal(undefined);
  const { events: shown } = body as unknown as {
    readonly events: readonly { readonly code: number; readonly status: string }[];
  };
  return [status, ...shown.map(({ code, status: became }) => `${code} ${became}`)].join(', ');
}

describe('compute: os-server-external-events', () => {
  it('tells the host of each server, in their order, and answers with what was sent (compute-rpc 3.8)', () =>
    withHttp(async (bed) => {
      await bed.host('a');
      const server_uuid = await instance(bed);
      const events = [
        { server_uuid, name: 'network-vif-unplugged', tag: 'port-1', status: 'failed' },
        { server_uuid: server_uuid.toUpperCase(), name: 'network-vif-plugged', tag: 'port-1' },
        { server_uuid, name: 'network-changed' },
      ];
      const { status, body } = await post(bed, events);
      expect(status).to.equal(200);
      expect(body).to.deep.equal({
        events: events.map((event) => ({ ...event, status: 'completed', code: 200 })),
      });
      await eventually('the events', 2000, () => bed.calls.length === 3);
      expect(bed.calls).to.deep.equal([
        'a external_instance_event(network-vif-unplugged, port-1, failed)',
        'a external_instance_event(network-vif-plugged, port-1, completed)',
        'a external_instance_event(network-changed, null, completed)',
      ]);
    }));

  it('answers 207, with the code of each event, when not all hosts can be told', () =>
    withHttp(async (bed) => {
      await bed.host('a');
      const server_uuid = await instance(bed);
      const plugged = (uuid: string): object => ({
        server_uuid: uuid,
        name: 'network-vif-plugged',
        tag: 't',
      });
      const unknown = plugged(randomUUID());
      const deleted = plugged(await instance(bed, { deleted: true }));
      const homeless = plugged(await instance(bed, { host: null }));
      const untagged = ['volume-extended', 'power-update', 'accelerator-request-bound'].map((name) => ({
        server_uuid,
        name,
      }));
      expect(await told(bed, [plugged(server_uuid), unknown, deleted, homeless, ...untagged])).to.equal(
        '207, 200 completed, 404 failed, 404 failed, 422 failed, 400 failed, 400 failed, 400 failed',
      );
      expect(await told(bed, [unknown])).to.equal('207, 404 failed');
      await eventually('the one', 2000, () => bed.calls.length === 1);
    }));

  it('knows further events from 2.51, 2.76, 2.82 and 2.93 (decision 33)', () =>
    withHttp(async (bed) => {
      const server_uuid = randomUUID();
      const since: readonly (readonly [string, number])[] = [
        ['volume-extended', 51],
        ['power-update', 76],
        ['accelerator-request-bound', 82],
        ['volume-reimaged', 93],
      ];
      for (const [name, minor] of since) {
        const events = [{ server_uuid, name, tag: 't' }];
        expect((await post(bed, events, `2.${minor}`)).status, name).to.equal(207);
        expect((await post(bed, events, `2.${minor - 1}`)).status, name).to.equal(400);
      }
    }));

  it('refuses what is no list of events', () =>
    withHttp(async (bed) => {
      const event = { server_uuid: randomUUID(), name: 'network-changed' };
      const bad: readonly unknown[] = [
        undefined,
        null,
        [],
        {},
        [null],
        [{ ...event, name: 'toString' }],
        [{ ...event, server_uuid: '1' }],
        [{ ...event, status: 'done' }],
        [{ ...event, tag: null }],
        [{ ...event, tag: 'x'.repeat(256) }],
        [{ ...event, x: 1 }],
        [event, { name: 'network-changed' }],
      ];
      for (const events of bad)
        expect((await post(bed, events)).status, JSON.stringify(events)).to.equal(400);
    }));

  it('tells the hosts in both cells of a server that is on its way from one to the other', () =>
    withHttp(async (first) => {
      await withHttp(async (second) => {
        const uuid = await instance(first);
        await instance(second, { uuid, host: 'b', hidden: true });
        await first.host('a');
        await second.host('b');
        const all = [first, second].map(({ records, computeApi }, index) => ({
          name: String(index),
          records,
          computeApi,
        }));
        const cells = {
          mappings: new MemoryMappings(),
          others: () => Promise.resolve(all),
          get: () => Promise.reject(new Error('It is not asked')),
        };
        await withHttp(
          async (bed) => {
            expect(await told(bed, [{ server_uuid: uuid, name: 'network-changed' }])).to.equal(
              '200, 200 completed',
            );
            await eventually('both', 2000, () => first.calls.length + second.calls.length === 2);
            expect([first.calls, second.calls]).to.deep.equal([
              ['a external_instance_event(network-changed, null, completed)'],
              ['b external_instance_event(network-changed, null, completed)'],
            ]);
          },
          { cells },
        );
      });
    }));

  it('answers 503 when a host cannot be told, so that the events are sent again', () => {
    const log = new CapturedLog();
    return withHttp(
      async (bed) => {
        const server_uuid = await instance(bed);
        const move = {
          instance_uuid: server_uuid,
          status: 'running',
          source_compute: 'a',
          dest_compute: 'b',
        };
        await bed.migration(move as Parameters<HttpBed['migration']>[0]);
        const answer = await post(bed, [{ server_uuid, name: 'network-changed' }]);
        expect(refusalIn(answer)).to.match(/^503 serviceUnavailable: Not every host could be told/);
        expect(log.lines.some(({ message }) => message === 'An external event was not sent')).to.equal(true);
      },
      {},
      log,
    );
  });
});

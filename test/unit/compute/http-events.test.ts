import { silentLogger } from '@ebbgate/core';
import { DatabaseError } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { MemoryMappings } from '#compute/db/instance-mappings.js';
import { EventStreams } from '#compute/http/page/event-streams.js';
import { EventClient } from '#compute/http/page/event-client.js';
import { withHttp } from './http-bed.js';
import { type PageBed, ScriptedResponse, withPage } from './http-page-bed.js';

/** The members of records that matter, in order of the ids that are expected. */
function seen(records: unknown, ...names: readonly string[]): unknown {
  const list = records as readonly Readonly<Record<string, unknown>>[];
  return list.map((record) => names.map((name) => record[name]));
}

async function withHosts(work: (page: PageBed) => Promise<void>): Promise<void> {
  await withPage(async (page) => {
    await page.bed.service('a');
    await page.bed.service('b');
    await work(page);
  });
}

describe('compute: events of the page for operators', () => {
  it('tell all there is first, then each change with the progress of moves, and what is gone (COMP-16)', () =>
    withHosts(async (page) => {
      const vm = await page.instance('vm1', 'a');
      const reader = await page.reader();
      const first = await reader.next();
      expect(first.name).to.equal('state');
      expect(seen(first.data['hosts'], 'host', 'state')).to.deep.equal([
        ['a', 'up'],
        ['b', 'up'],
      ]);
      expect(seen(first.data['instances'], 'name', 'host', 'vm_state')).to.deep.equal([
        ['vm1', 'a', 'active'],
      ]);
      const move = await page.migrating(vm, 'a', 'b');
      const moving = await reader.next();
      expect(moving.name).to.equal('change');
      expect(seen(moving.data['instances'], 'id', 'task_state')).to.deep.equal([[vm, 'migrating']]);
      expect(seen(moving.data['migrations'], 'id', 'source', 'dest', 'progress')).to.deep.equal([
        [move, 'a', 'b', 0],
      ]);
      await page.bed.records.migrations.update(move, { memory_processed: 60, memory_remaining: 40 });
      expect((await reader.next()).data)
        .to.have.all.keys('migrations')
        .and.to.have.nested.property('migrations[0].progress', 0.6);
      await page.bed.records.services.delete('compute', 'b');
      const { gone } = (await reader.next()).data;
      expect(gone).to.have.all.keys('hosts');
    }));

  it('tell what happens at the same time together, and a heartbeat that changes nothing not at all', () =>
    withHosts(async (page) => {
      const vms = await Promise.all(
        Array.from({ length: 50 }, (_, index) => page.instance(`vm${index}`, 'a')),
      );
      const reader = await page.reader();
      await reader.next();
      await page.bed.beat('a');
      const { instances } = page.bed.records;
      await Promise.all(vms.map((uuid) => instances.update(uuid, { task_state: 'rebooting' })));
      const { data } = await reader.next();
      expect(data).to.have.all.keys('instances');
      expect(data['instances']).to.have.length(50);
    }));

  it('tell of a drain, its tasks, and their progress as the migrations have it', () =>
    withHosts(async (page) => {
      const vm = await page.instance('vm1', 'a');
      const move = await page.migrating(vm, 'a', 'b');
      const reader = await page.reader();
      await reader.next();
      const task = {
        name: 'live_migration',
        kind: 'background',
        subject: vm,
        ageMs: 5,
        progress: 0.1,
      } as const;
      const drain = { reason: 'SIGTERM', step: 'tasks', budgetLeftMs: 900, taskCount: 1, tasks: [task] };
      const { nowMs: reportedAtMs } = page.bed;
      await page.bed.records.services.report({
        ...{ binary: 'compute', host: 'a', state: 'draining', reportedAtMs, drain },
      });
      const draining = await reader.next();
      expect(seen(draining.data['hosts'], 'host', 'state')).to.deep.equal([['a', 'draining']]);
      expect(draining.data).to.have.nested.property('hosts[0].drain.tasks[0].progress', 0.1);
      await page.bed.records.migrations.update(move, { memory_processed: 50, memory_remaining: 50 });
      expect((await reader.next()).data).to.have.nested.property('hosts[0].drain.tasks[0].progress', 0.5);
    }));

  it('come also when nobody tells of changes: it is looked for them', () =>
    withPage(
      async (page) => {
        const { nowMs: reportedAtMs } = page.bed;
        const { records } = page.bed;
        await records.services.register({ binary: 'compute', host: 'a', state: 'running', reportedAtMs });
        const reader = await page.reader();
        await reader.next();
        await records.services.update('compute', 'a', { disabled: true });
        expect(seen((await reader.next()).data['hosts'], 'state')).to.deep.equal([['disabled']]);
      },
      { events: undefined, streams: { lookMs: 5 } },
    ));

  it('tell of all cells; of one that does not answer, which hosts it has (FD-31)', () =>
    withHttp(async (one) => {
      await withHttp(async (other) => {
        await one.service('a');
        await other.service('b');
        const cells = [one, other].map(({ records, computeApi }, index) => {
          const services = { ...records.services };
          return { name: `cell${index}`, computeApi, records: { ...records, services } };
        });
        const known = {
          mappings: new MemoryMappings(),
          others: () => Promise.resolve(cells),
          get: () => Promise.resolve({ records: one.records }),
        };
        const away = (): Promise<never> => Promise.reject(new DatabaseError('It is away'));
        await withPage(
          async (page) => {
            const reader = await page.reader();
            expect(seen((await reader.next()).data['hosts'], 'host', 'state')).to.deep.equal([
              ['a', 'up'],
              ['b', 'up'],
            ]);
            Object.assign(cells[1]?.records.services ?? {}, { list: away, find: away });
            const { data } = await reader.next();
            expect(seen(data['hosts'], 'host', 'state')).to.deep.equal([['b', 'unreachable']]);
            expect(data['gone']).to.have.all.keys('hosts');
          },
          { cells: known, events: undefined, streams: { lookMs: 5 } },
        );
      });
    }));

  it('say that the records cannot be read, and all there is once they can', () =>
    withHosts(async (page) => {
      const reader = await page.reader();
      await reader.next();
      const { list } = page.bed.records.services;
      let isAway = true;
      page.bed.records.services.list = (binary) =>
        isAway ? Promise.reject(new DatabaseError('It is away')) : list(binary);
      await page.instance('vm1', 'a');
      expect((await reader.next()).name).to.equal('unreachable');
      isAway = false;
      await page.instance('vm2', 'a');
      const back = await reader.next();
      expect([back.name, seen(back.data['instances'], 'name')]).to.deep.equal(['state', [['vm1'], ['vm2']]]);
    }));

  it('end at once when the API drains, and none begins any more (HTTP-01, HTTP-02)', () =>
    withHosts(async (page) => {
      const reader = await page.reader();
      await reader.next();
      expect(page.bed.tasks.size).to.equal(1);
      page.bed.app.refuseNewWork();
      await reader.ended;
      expect((await page.reader()).status).to.equal(503);
      await page.bed.tasks.whenIdle();
    }));

  it('show signs of life, go to so many at a time, and there is room when one has left', () =>
    withPage(
      async (page) => {
        const reader = await page.reader();
        await reader.beat(2);
        const refused = await page.reader();
        expect([refused.status, refused.headers['retry-after']]).to.deep.equal([503, '5']);
        reader.close();
        await page.bed.tasks.whenIdle();
        expect((await page.reader()).status).to.equal(200);
      },
      { streams: { maxClients: 1, heartbeatMs: 5 } },
    ));

  it('are not begun for who has gone while it was let in', () => {
    const newLook = (): never => expect.fail('Nobody listens');
    const streams = new EventStreams({ newLook, logger: silentLogger, maxClients: 1 });
    const scripted = new ScriptedResponse();
    scripted.destroy();
    streams.add(scripted.response, {}, () => Promise.resolve(true));
    streams.checkRoom();
    expect(scripted.written).to.deep.equal([]);
  });

  it('do not pile up for who reads slowly: all there is takes the place of what was missed', () => {
    const scripted = new ScriptedResponse();
    const client = new EventClient(scripted.response, () => 'whole', {});
    scripted.hasRoom = false;
    for (const frame of ['first', 'second', 'third']) client.send(frame);
    expect(scripted.written.slice(1)).to.deep.equal(['first']);
    scripted.hasRoom = true;
    scripted.emit('drain');
    client.send('fourth');
    expect(scripted.written.slice(1)).to.deep.equal(['first', 'whole', 'fourth']);
  });

  it('are not kept for who reads nothing between two signs of life', () => {
    const scripted = new ScriptedResponse();
    const client = new EventClient(scripted.response, () => 'whole', {});
    client.beat();
    scripted.hasRoom = false;
    client.send('an event');
    client.beat();
    expect(scripted.destroyed).to.equal(false);
    client.beat();
    expect(scripted.destroyed).to.equal(true);
  });

  it('are cut off at their end for who has not read what there is, and end in order for others', () => {
    for (const hasRoom of [true, false]) {
      const scripted = new ScriptedResponse();
      const client = new EventClient(scripted.response, () => 'whole', {});
      scripted.hasRoom = hasRoom;
      client.send('an event');
      client.end();
      expect([scripted.destroyed, scripted.written.at(-1)]).to.deep.equal(
        hasRoom ? [false, 'end'] : [true, 'an event'],
      );
    }
  });
});

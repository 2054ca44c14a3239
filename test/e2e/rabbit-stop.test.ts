import { join } from 'node:path';
import { createTransport, type Transport } from '@ebbgate/core';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import { RpcClient } from '@ebbgate/rpc';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { CliProcess } from '../support/cli-process.js';
import { eventually } from '../support/rigs/deadline.js';
import type { QueueInfo } from '../support/rigs/rabbit-objects.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';

const WORK = join(import.meta.dirname, '../support/fixtures/cli-work.js');
const rabbit = await sharedRabbit();

/** A virtual host of its own, with a client of this process and servers that are processes. */
class Bed {
  readonly vhost: string;
  readonly transport: Transport;
  readonly #url: string;
  readonly #servers: CliProcess[] = [];

  constructor(url: string) {
    this.#url = url;
    this.vhost = new URL(url).pathname.slice(1);
    this.transport = createTransport(url, { drivers: [rabbitDriver] });
  }

  client(server?: string): RpcClient {
    return new RpcClient(this.transport, { topic: 'demo', ...(server !== undefined && { server }) });
  }

  async serve(name: string, ...options: string[]): Promise<CliProcess> {
    const server = new CliProcess(['serve', '--json', ...this.#args(name), '--endpoints', WORK, ...options]);
    this.#servers.push(server);
    await server.event('listening');
    return server;
  }

  /** Sends SIGTERM; resolves when the server takes nothing more. */
  async stop(server: CliProcess): Promise<void> {
    server.child.kill('SIGTERM');
    await server.line((line) => line.includes('"stop-new-request"') && line.includes('"outcome":"done"'));
  }

  async queue(name: string): Promise<QueueInfo> {
    const all = await rabbit.view.queues(this.vhost);
    const found = all.find((one) => one.name === name);
    if (!found) throw new Error(`There is no queue ${name}, but ${all.map((one) => one.name).join(', ')}`);
    return found;
  }

  /** Names of the queues with a consumer. */
  async consumed(): Promise<readonly string[]> {
    const consumers = await rabbit.view.consumers(this.vhost);
    return [...new Set(consumers.map(({ queue_name }) => queue_name))].sort();
  }

  async dispose(): Promise<void> {
    for (const server of this.#servers) server.child.kill('SIGKILL');
    await Promise.all(this.#servers.map(({ ended }) => ended));
    await this.transport.close();
  }

  #args(name: string): readonly string[] {
    return ['--url', this.#url, '--topic', 'demo', '--server', name];
  }
}

async function withBed(work: (bed: Bed) => Promise<void>): Promise<void> {
  const bed = new Bed(await rabbit.vhost());
  try {
    await work(bed);
  } finally {
    await bed.dispose();
  }
}

/** The ids that a server has told of. */
function ids(server: CliProcess, what: 'begun' | 'ended'): readonly number[] {
  return server.messages(`${what} `).map((message) => Number(message.split(' ')[1]));
}

const isReply = (name: string): boolean => name.startsWith('reply_');

describe('stopping servers that are processes, on RabbitMQ', function () {
  this.timeout(40_000);

  it('makes queues, exchange, bindings and consumers at start; after stop only the consumers are gone (GS-10, GS-11, GS-14, GS-15)', () =>
    withBed(async (bed) => {
      const server = await bed.serve('s1');
      const call = bed.client('s1').call({}, 'work', { id: 1 });
      await server.message('begun 1'); // so that the process is there to be looked at after stop()
      const view = async () => ({
        queues: (await rabbit.view.queues(bed.vhost))
          .map(({ name }) => name)
          .filter((name) => !isReply(name)),
        exchanges: (await rabbit.view.exchanges(bed.vhost))
          .map(({ name }) => name)
          .filter((name) => !isReply(name)),
        bindings: (await rabbit.view.bindings(bed.vhost)).filter((one) => !isReply(one.source_name)),
      });
      const before = await view();
      const fanout = before.queues.find((name) => name.startsWith('demo_fanout'));
      expect(before.queues).to.have.members(['demo', 'demo.s1', fanout]);
      expect(before.exchanges).to.have.members(['openstack', 'demo_fanout']);
      expect(before.bindings).to.have.length(3);
      expect((await bed.consumed()).filter((name) => !isReply(name))).to.have.members(before.queues);
      await bed.stop(server);
      expect(await view()).to.deep.equal(before);
      expect((await bed.consumed()).filter((name) => !isReply(name))).to.deep.equal([]);
      server.child.send('finish');
      expect(await call).to.equal('s1');
      expect((await server.ended).code).to.equal(0);
    }));

  it('hands what was taken to its handler, leaves the rest in the queue, and nothing half acknowledged (GS-12, GS-13, GS-16, GS-17)', () =>
    withBed(async (bed) => {
      const first = await bed.serve('s1', '--slots', '2');
      const client = bed.client();
      const all = Array.from({ length: 44 }, (_, index) => index);
      for (const id of all.slice(0, 40)) await client.cast({}, 'work', { id });
      await first.messageCount('begun', 2);
      await bed.stop(first);
      for (const id of all.slice(40)) await client.cast({}, 'work', { id }); // taken by nobody
      expect(first.child.exitCode).to.equal(null); // it waits for its handlers
      first.child.send('finish');
      expect((await first.ended).code).to.equal(0);
      const ran = ids(first, 'ended');
      expect(ran).to.have.members(ids(first, 'begun')).and.to.include.members([0, 1]);
      expect(ran).to.have.length.within(3, 39); // more than the two that ran, and not all
      expect(ran.some((id) => id >= 40)).to.equal(false);
      const left = await bed.queue('demo');
      expect(left).to.include({ messages_unacknowledged: 0, messages_ready: all.length - ran.length });

      const second = await bed.serve('s1'); // takes what has stayed there
      second.child.send('finish');
      await second.messageCount('ended', all.length - ran.length);
      expect([...ran, ...ids(second, 'ended')]).to.have.members(all);
      expect(await bed.queue('demo')).to.include({ messages: 0 });
    }));

  it('answers the call that is served when SIGTERM comes, through a reply queue that no stop touches, and lives until then (GS-21, GS-22)', () =>
    withBed(async (bed) => {
      const server = await bed.serve('s1');
      const calls = [1, 2].map((id) => bed.client('s1').call({}, 'work', { id }));
      await server.messageCount('begun', 2);
      const replies = (await bed.consumed()).filter(isReply);
      expect(replies).to.have.length(1); // one for both: told apart by their ids
      await bed.stop(server);
      expect(await bed.consumed()).to.deep.equal(replies);
      expect(await bed.queue(replies[0] ?? '')).to.include({ consumers: 1, messages: 0 });
      server.child.send('finish');
      expect(await Promise.all(calls)).to.deep.equal(['s1', 's1']);
      expect((await server.ended).code).to.equal(0);
    }));

  it('has workers share one queue, and loses nothing when one of them is stopped under load (GS-19, GS-20)', () =>
    withBed(async (bed) => {
      const names = ['s1', 's2', 's3'];
      const workers = await Promise.all(names.map((name) => bed.serve(name)));
      const [stopped] = workers;
      if (!stopped) throw new Error('three were started');
      expect(await bed.queue('demo')).to.include({ consumers: 3 });
      for (const name of names) expect(await bed.queue(`demo.${name}`)).to.include({ consumers: 1 });
      const fanouts = await rabbit.view.bindings(bed.vhost);
      expect(fanouts.filter(({ source_name }) => source_name === 'demo_fanout')).to.have.length(3);

      const total = 900;
      const client = bed.client();
      let next = 0;
      const caller = async (): Promise<string[]> => {
        const answers: string[] = [];
        while (next < total) {
          const id = next++;
          answers.push((await client.call({}, 'quick', { id })) as string);
        }
        return answers;
      };
      const answered = Promise.all(Array.from({ length: 16 }, caller));
      await stopped.messageCount('ended', 60);
      await bed.stop(stopped);
      const before = ids(stopped, 'begun').length;
      expect((await stopped.ended).code).to.equal(0);
      const answers = (await answered).flat();
      expect(answers).to.have.length(total);
      const ranBy = (): (readonly number[])[] => workers.map((worker) => ids(worker, 'begun'));
      // What a worker tells comes by another way than its answers, and may come later.
      await eventually('every request told of', 10_000, () => ranBy().flat().length >= total);
      const ran = ranBy();
      expect(ran.flat()).to.have.length(total); // each once …
      expect(new Set(ran.flat()).size).to.equal(total); // … and none twice
      expect(ids(stopped, 'begun')).to.have.length.within(before, before + 16);
      expect(answers.filter((name) => name === 's1')).to.have.length(ids(stopped, 'begun').length);
      for (const one of ran.slice(1)) expect(one.length).to.be.above(0);
      expect(await bed.queue('demo')).to.include({ consumers: 2, messages: 0 });
    }));

  it('asks nothing of a process that has clients only: it has its reply queue and no more (GS-18)', () =>
    withBed(async (bed) => {
      const server = await bed.serve('s1');
      expect(await bed.client().call({}, 'quick', { id: 1 })).to.equal('s1');
      await bed.stop(server);
      await server.ended;
      const consumed = await bed.consumed();
      expect(consumed).to.have.length(1);
      expect(consumed.every(isReply)).to.equal(true);
    }));

  it('settles the call of a caller whose server is killed (RPC-01)', () =>
    withBed(async (bed) => {
      const server = await bed.serve('s1');
      const begunAt = performance.now();
      const client = bed.client('s1').prepare({ callMonitorTimeoutMs: 1000, timeoutMs: 30_000 });
      const call = client.call({}, 'work', { id: 1 }).then(
        () => 'answered',
        (error: unknown) => (error as { code?: string }).code,
      );
      await server.message('begun 1');
      server.child.kill('SIGKILL');
      expect(await call).to.equal('ERR_TIMEOUT');
      expect(performance.now() - begunAt).to.be.below(10_000);
      await eventually('the broker sees that it is gone', 5000, async () => {
        return (await bed.queue('demo.s1')).consumers === 0;
      });
    }));
});

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Deadline, MessageServer, timers, type Transport } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { rejectionOf, turn } from '../../support/deferred.js';
import { MemoryBed, send, TOPIC } from './support/memory-bed.js';
import { SOURCE, wireMessage } from './support/scripted-driver.js';

const CYCLES = 1000;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void; // V8's own, behind the flag

function heap(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

/** The smallest growth of the heap in some rounds: what leaks grows in each of them. */
async function growth(round: () => Promise<void>): Promise<number> {
  await round();
  const growths: number[] = [];
  for (let rounds = 0; rounds < 3; rounds += 1) {
    const before = heap();
    await round();
    growths.push(heap() - before);
  }
  return Math.min(...growths);
}

async function times(count: number, what: () => Promise<void>): Promise<void> {
  for (let left = count; left > 0; left -= 1) await what();
}

/** Process-wide counts of what a leak would make grow. */
function resources(): Record<string, number> {
  const counts: Record<string, number> = { timers: timers.size, listeners: 0 };
  for (const each of process.getActiveResourcesInfo()) counts[each] = (counts[each] ?? 0) + 1;
  for (const name of process.eventNames())
    counts['listeners'] = (counts['listeners'] ?? 0) + process.listenerCount(name);
  return counts;
}

/** Handlers that were put on the transport from now on, and not taken back. */
function countClosingHandlers(transport: Transport): () => number {
  const onClosing = transport.onClosing.bind(transport);
  let kept = 0;
  transport.onClosing = (handler) => {
    kept += 1;
    const leave = onClosing(handler);
    return () => {
      kept -= 1;
      leave();
    };
  };
  return () => kept;
}

describe('reconnecting', () => {
  it(`leaves no listener, timer or memory behind in ${String(CYCLES)} cuts, failed sends included, and no warning (CORE-10)`, async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    const bed = new MemoryBed();
    const [host, client] = [bed.transport(), bed.transport()];
    let handled = 0;
    const handler = { read: () => 'x', idOf: () => undefined, run: () => void (handled += 1) };
    const servers = ['host-1', 'host-2'].map(
      (server) => new MessageServer(host, { ...SOURCE, server }, handler),
    );
    for (const server of servers) await server.start();
    await host.openReplyQueue(() => {});
    await client.connect();

    const cycle = async (): Promise<void> => {
      bed.faults.cut();
      const failing = Promise.resolve(
        client.publish(TOPIC, wireMessage(), {
          deadline: Deadline.after(0),
          mandatory: true,
          retry: undefined,
        }),
      );
      const refused = rejectionOf(
        Promise.resolve().then(() =>
          client.publish(TOPIC, wireMessage(), { deadline: Deadline.after(9000), mandatory: true, retry: 0 }),
        ),
      );
      const waiting = send(client, TOPIC);
      await refused;
      bed.faults.restore();
      await Promise.allSettled([failing, waiting]);
      bed.faults.stall();
      const stalled = send(client, TOPIC);
      bed.faults.resume();
      await stalled;
      bed.faults.cancelConsumers();
      await turn();
    };

    const before = resources();
    expect(await growth(() => times(CYCLES, cycle))).to.be.below(60 * CYCLES); // less than an object a cycle
    expect(resources()).to.deep.equal(before);
    process.off('warning', onWarning);
    expect(warnings).to.deep.equal([]);
    expect(handled).to.be.greaterThan(2 * CYCLES);
    expect(host.status().listeners.every(({ subscribed }) => subscribed)).to.equal(true);
    await Promise.all([host.close(), client.close()]);
  }).timeout(30_000);

  it(`leaves nothing of ${String(CYCLES)} sends that failed during one long outage (CORE-10)`, async () => {
    for (const fault of ['cut', 'stall'] as const) {
      const bed = new MemoryBed();
      const client = bed.transport();
      await client.connect();
      bed.faults[fault]();
      const fail = async (): Promise<void> => {
        const options = { deadline: Deadline.after(-1), mandatory: true, retry: undefined };
        const sends = Array.from({ length: 100 }, () =>
          Promise.resolve(client.publish(TOPIC, wireMessage(), options)),
        );
        await Promise.allSettled(sends);
      };
      expect(await growth(() => times(CYCLES / 100, fail))).to.be.below(60 * CYCLES);
      await client.close();
    }
  }).timeout(30_000);

  it(`leaves nothing of ${String(CYCLES)} starts and ends of a server (CORE-10, AMQP-37)`, async () => {
    const transport = new MemoryBed().transport();
    const handler = { read: () => 'x', idOf: () => undefined, run: () => {} };
    const server = new MessageServer(transport, SOURCE, handler);
    const turnOver = async (): Promise<void> => {
      await server.start();
      await send(transport);
      await turn(); // it is handled
      await server.stop();
      await server.wait();
    };
    await turnOver();
    await turn();
    const before = resources();
    const kept = countClosingHandlers(transport);
    expect(await growth(() => times(CYCLES, turnOver))).to.be.below(100 * CYCLES);
    expect(kept()).to.equal(0); // each is less than what the heap differs from run to run
    await turn();
    expect(resources()).to.deep.equal(before);
    expect(transport.status().listeners).to.deep.equal([]);
    await transport.close();
  }).timeout(30_000);
});

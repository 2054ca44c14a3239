import { NotificationListener, Notifier } from '@ebbgate/notify';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { depthOf, TOO_DEEP } from '../support/depth.js';
import { BOMBS, hostileBodies } from '../support/hostile-bytes.js';
import { Prototypes } from '../support/prototypes.js';
import { rawMessage } from '../support/requests.js';
import { eventually } from '../support/rigs/deadline.js';
import { faultSeed } from '../support/rigs/random-faults.js';
import { fresh, send, source, toFanout, toServer, toTopic } from './bed.js';
import { type HostileRoad, ROADS } from './hostile-roads.js';

const WAIT_MS = 20_000;
const BODIES = 300;
/** Requests among them wait, each in a slot, for somebody at the address that they give. */
const MANY_SLOTS = { slots: 1_000, prefetch: 100 };

for (const [name, { start, notifies }] of ROADS)
  describe(`hostile messages by ${name}`, function () {
    this.timeout(90_000);
    let road: HostileRoad;
    let prototypes: Prototypes;
    let seed: number;
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown): void => void unhandled.push(reason);

    beforeEach(async () => {
      road = await start();
      prototypes = new Prototypes();
      seed = faultSeed();
      process.on('unhandledRejection', onUnhandled);
    });

    /** Nothing that is shared has changed, and no log line has a password or what came. */
    afterEach(async () => {
      await road.bed.end();
      process.removeListener('unhandledRejection', onUnhandled);
      expect(prototypes.changes()).to.deep.equal([]);
      expect(unhandled.splice(0)).to.deep.equal([]);
      const { password } = new URL(road.url);
      if (password !== '') expect(road.bed.log.ordinaryText()).to.not.contain(`:${password}@`);
    });

    it('are refused one by one by a server, which goes on serving (AMQP-29, AMQP-30, SEC-06)', async () => {
      const { bed, url } = road;
      const transport = await bed.connected(url);
      const where = source();
      let deepest = 0;
      const endpoint = {
        m: (_context: unknown, args: unknown) => {
          deepest = Math.max(deepest, depthOf(args));
          return 'fine';
        },
      };
      const server = await bed.serve(transport, where, endpoint, MANY_SLOTS);
      const client = bed.client(transport, where);
      const ways = [toTopic(where), toServer(where), toFanout(where)];
      const bodies = [...hostileBodies(BODIES, seed), ...BOMBS];
      for (const [index, body] of bodies.entries()) {
        await send(transport, ways[index % ways.length] ?? toTopic(where), rawMessage(body));
        await road.byHand?.(where, body, index);
        if (index % 50 === 0) expect(await client.call({}, 'm')).to.equal('fine');
      }
      expect(await client.call({}, 'm')).to.equal('fine');
      const sent = bodies.length * (road.byHand ? 2 : 1);
      await eventually('most refusals', WAIT_MS, () => server.counts.malformed > sent * 0.6);
      await eventually('the end of all that runs', WAIT_MS, () => server.running === 0);
      expect(deepest).to.be.below(TOO_DEEP);
      expect(transport.status().connection).to.equal('connected');
    });

    it('are dropped by a caller, which gets the answer that it waits for (AMQP-30, SEC-01)', async () => {
      const { bed, url } = road;
      const transport = await bed.connected(url);
      const where = source();
      const heard = await bed.listen(transport, where);
      const call = bed.client(transport, where, { timeoutMs: WAIT_MS }).call({}, 'm');
      await eventually('the request', WAIT_MS, () => heard.texts.length === 1);
      const outer = JSON.parse(heard.texts[0] ?? '') as Readonly<Record<string, string>>;
      const { _msg_id, _reply_q } = JSON.parse(outer['oslo.message'] ?? '') as Readonly<
        Record<string, string>
      >;
      const to = { kind: 'reply', address: _reply_q ?? '' } as const;
      for (const body of [...hostileBodies(BODIES, seed), ...BOMBS])
        await send(transport, to, rawMessage(body));
      const failure = {
        class: '__proto__',
        module: 'constructor',
        message: 'm',
        ebbgate: { name: 'toString' },
      };
      await send(transport, to, JSON.stringify({ _msg_id: 'of nobody', failure, ending: true }));
      await send(transport, to, JSON.stringify({ _msg_id, result: 'fine', failure: null, ending: true }));
      expect(await call).to.equal('fine');
    });

    if (!notifies) return;
    it('are rejected by a listener to notifications, which hears the next one (AMQP-30, SEC-06)', async () => {
      const { bed, url } = road;
      const transport = await bed.connected(url);
      const topic = fresh('hostile');
      const heard: unknown[] = [];
      const endpoint = {
        info: (_context: unknown, { payload }: { payload: unknown }) => void heard.push(payload),
      };
      const listener = new NotificationListener(transport, [{ topic }], [endpoint]);
      bed.onEnd(() => listener.stop());
      await listener.start();
      const to = { kind: 'notification', exchange: 'openstack', topic: `${topic}.info` } as const;
      for (const body of [...hostileBodies(BODIES, seed), ...BOMBS])
        await send(transport, to, rawMessage(body));
      const last = `the last of ${topic}`;
      await new Notifier(transport, { topics: [topic] }).info({}, 'e', last);
      await eventually('the one that is one', WAIT_MS, () => heard.includes(last));
      expect(listener.counts.malformed).to.be.above(BODIES / 2);
    });
  });

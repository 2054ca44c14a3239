import { createRedisDriver } from '@ebbgate/driver-redis';
import { Redis } from 'ioredis';
import { id, pack, unpack } from './oslo-envelope.js';
import { type Contender, ours } from './rabbit-contenders.js';

const TOPIC = 'bench';
const GROUP = 'servers';
/** What was read is forgotten in time; the least that keeps a stream from growing without end. */
const TRIM = ['MAXLEN', '~', 10_000] as const;

type Streams = readonly [Buffer, readonly [Buffer, readonly Buffer[]][]][] | null;

function read(streams: Streams): readonly (readonly [string, ReturnType<typeof unpack>])[] {
  return (streams ?? []).flatMap(([, entries]) =>
    entries.map(([entry, [, body]]) => [String(entry), unpack(body ?? Buffer.alloc(0))] as const),
  );
}

/** The least code that does the same with streams: no deadlines, no errors, no duplicates, no leases, no reconnecting. */
const floor: Contender = {
  async serve(url) {
    const [reader, redis] = [new Redis(url), new Redis(url)];
    await redis.xgroup('CREATE', TOPIC, GROUP, '$', 'MKSTREAM').catch(() => undefined);
    let wanted = true;
    const serve = async (): Promise<void> => {
      while (wanted) {
        const reply = await reader.callBuffer(
          'xreadgroup',
          ...['GROUP', GROUP, 'one', 'COUNT', 256, 'BLOCK', 1000, 'STREAMS', TOPIC, '>'],
        );
        for (const [entry, { args, _msg_id, _reply_q }] of read(reply as Streams)) {
          void redis.xack(TOPIC, GROUP, entry);
          if (_msg_id === undefined) continue;
          const answer = { result: args.message, failure: null, ending: true, _msg_id, _unique_id: id() };
          void redis.xadd(_reply_q, ...TRIM, '*', 'body', pack(answer));
        }
      }
    };
    const serving = serve();
    return async () => {
      wanted = false;
      await serving;
      reader.disconnect();
      await redis.quit();
    };
  },
  async caller(url) {
    const [reader, redis] = [new Redis(url), new Redis(url)];
    const replies = `reply_${id()}`;
    const waiting = new Map<string, (result: unknown) => void>();
    let [wanted, last] = [true, '0'];
    const listen = async (): Promise<void> => {
      while (wanted) {
        const reply = await reader.callBuffer('xread', 'COUNT', 256, 'BLOCK', 1000, 'STREAMS', replies, last);
        for (const [entry, { _msg_id = '', result }] of read(reply as Streams)) {
          last = entry;
          waiting.get(_msg_id)?.(result);
          waiting.delete(_msg_id);
        }
      }
    };
    const listening = listen();
    return {
      call: (message) =>
        new Promise((resolve) => {
          const _msg_id = id();
          waiting.set(_msg_id, resolve);
          const ids = { _msg_id, _reply_q: replies, _timeout: null, _unique_id: id() };
          void redis.xadd(TOPIC, ...TRIM, '*', 'body', pack({ method: 'echo', args: { message }, ...ids }));
        }),
      async cast(message) {
        const request = { method: 'sink', args: { message }, _unique_id: id() };
        await redis.xadd(TOPIC, ...TRIM, '*', 'body', pack(request));
      },
      async end() {
        wanted = false;
        await listening;
        reader.disconnect();
        await redis.del(replies);
        await redis.quit();
      },
    };
  },
};

export const redisContenders: ReadonlyMap<string, Contender> = new Map([
  ['floor', floor],
  ['confirmed', ours(createRedisDriver({ acceptance: 'confirmed' }))],
  ['written', ours(createRedisDriver({ acceptance: 'written' }))],
]);

// One side of one contender, in a process of its own: what the parent asks for, it does and answers.
import { amqp10Contenders } from './amqp10-contenders.js';
import { heapInUse, rate } from './measure.js';
import { contenders } from './rabbit-contenders.js';
import { redisContenders } from './redis-contenders.js';

/** A round that the parent asks for; `bytes` 0 means the usual small argument. */
export interface RoundRequest {
  readonly kind: 'call' | 'cast';
  readonly times: number;
  readonly concurrency: number;
  readonly bytes: number;
}

/** Seconds of CPU of this process until now, for a round how many a second, and under `--expose-gc` its heap in use. */
export interface PeerAnswer {
  readonly cpu: number;
  readonly perSecond: number;
  readonly heapBytes?: number;
}

/** By the scheme of the URL. */
const CONTENDERS = new Map([
  ['redis', redisContenders],
  ['amqp10', amqp10Contenders],
]);

const [, , role, name = '', url = ''] = process.argv;
const [scheme = ''] = url.split(':');
const contender = (CONTENDERS.get(scheme) ?? contenders).get(name);
if (!contender || !process.send) throw new Error('started by a benchmark only');
const SMALL = {
  id: 'a1b2c3d4',
  name: 'instance-0001',
  flavor: { vcpus: 2, memory_mb: 512 },
  tags: ['x', 'y'],
};

function answer(perSecond: number): void {
  const { user, system } = process.cpuUsage();
  const heap = globalThis.gc ? { heapBytes: heapInUse() } : {};
  const message: PeerAnswer = { cpu: (user + system) / 1e6, perSecond, ...heap };
  process.send?.(message);
}

if (role === 'server') {
  const end = await contender.serve(url);
  process.on('message', () => {
    answer(0);
  });
  process.on('disconnect', () => void end().then(() => process.exit()));
} else {
  const caller = await contender.caller(url);
  const round = async ({ kind, times, concurrency, bytes }: RoundRequest): Promise<number> => {
    const argument = bytes === 0 ? SMALL : 'x'.repeat(bytes);
    const perSecond = await rate(() => caller[kind](argument), times, concurrency);
    if (kind === 'call' || times === 0) return perSecond;
    const startedAt = performance.now();
    await caller.call(argument); // served after all casts: what is still queued counts, and burdens nobody else's round
    return (times / ((times / perSecond) * 1000 + performance.now() - startedAt)) * 1000;
  };
  process.on('message', (request: RoundRequest) => {
    void round(request).then(answer);
  });
  process.on('disconnect', () => void caller.end().then(() => process.exit()));
}
process.send('ready');

// One side of one contender, in a process of its own: what the parent asks for, it does and answers.
import { rate } from './measure.js';
import { contenders } from './rabbit-contenders.js';

/** A round that the parent asks for; `bytes` 0 means the usual small argument. */
export interface RoundRequest {
  readonly kind: 'call' | 'cast';
  readonly times: number;
  readonly concurrency: number;
  readonly bytes: number;
}

/** Seconds of CPU of this process until now, and for a round how many a second. */
export interface PeerAnswer {
  readonly cpu: number;
  readonly perSecond: number;
}

const [, , role, name = '', url = ''] = process.argv;
const contender = contenders.get(name);
if (!contender || !process.send) throw new Error('started by rabbit.ts only');
const SMALL = {
  id: 'a1b2c3d4',
  name: 'instance-0001',
  flavor: { vcpus: 2, memory_mb: 512 },
  tags: ['x', 'y'],
};

function answer(perSecond: number): void {
  const { user, system } = process.cpuUsage();
  const message: PeerAnswer = { cpu: (user + system) / 1e6, perSecond };
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
  const round = ({ kind, times, concurrency, bytes }: RoundRequest): Promise<number> => {
    const argument = bytes === 0 ? SMALL : 'x'.repeat(bytes);
    return rate(() => caller[kind](argument), times, concurrency);
  };
  process.on('message', (request: RoundRequest) => {
    void round(request).then(answer);
  });
  process.on('disconnect', () => void caller.end().then(() => process.exit()));
}
process.send('ready');

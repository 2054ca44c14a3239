// One contender in a process of its own: a round for each message of the parent.
import { rate } from './measure.js';
import { contenders } from './memory-contenders.js';

const make = contenders.get(process.argv[2] ?? '');
if (!make || !process.send) throw new Error('started by memory.ts only');
const contender = await make();
await rate(contender.run, 20_000, 32); // warm-up
process.on('message', (times: number) => {
  void rate(contender.run, times, 32).then((perSecond) => process.send?.(perSecond));
});
process.on('disconnect', () => void contender.end());
process.send('ready');

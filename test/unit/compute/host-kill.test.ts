import { expect } from 'chai';
import { describe, it } from 'mocha';
import { HostPart } from '#compute/main/all-in-one-host.js';
import { HostLog } from '#compute/main/host-log.js';
import { CapturedLog } from '../../support/captured-log.js';
import { SOURCE, type TestCloud, withCloud } from './test-cloud.js';

/** On a host of an all-in-one, in a run of its own, and all that was logged since that began. */
async function withPart(
  work: (part: HostPart, captured: CapturedLog, test: TestCloud) => Promise<void>,
): Promise<void> {
  const captured = new CapturedLog();
  const log = new HostLog(captured);
  await withCloud({ logger: log }, async (test) => {
    await test.cloud.host(SOURCE).terminate();
    const part = new HostPart(test.cloud.host(SOURCE), log);
    await part.start();
    captured.lines.length = 0;
    await work(part, captured, test);
  });
}

/** All but what is for debugging. */
function told({ lines }: CapturedLog): readonly string[] {
  return lines.filter(({ level }) => level !== 'debug').map(({ level, message }) => `${level}: ${message}`);
}

describe('a host of an all-in-one that its operator kills', () => {
  it('is told of in one line, with what it was doing; the rest is for debugging', () =>
    withPart(async (part, captured, test) => {
      const held = test.virt(SOURCE).steps.hold('start-guest');
      await test.boot();
      await held.reached;
      captured.lines.length = 0;
      await part.kill();
      await test.cloud.host(SOURCE).process.service.exited;
      expect(told(captured)).to.deep.equal([`info: Host ${SOURCE} is killed; its end is logged at debug`]);
      expect(captured.lines[0]?.fields).to.deep.equal({ host: SOURCE, tasks: ['build_instance'] });
      expect(captured.at('debug').map(({ message }) => message)).to.include(
        'SIGINT during the drain: ending at once',
      );
    }));

  it('is heard again from its next start on', () =>
    withPart(async (part, captured, test) => {
      await part.kill();
      await part.start();
      captured.lines.length = 0;
      expect((await test.cloud.host(SOURCE).terminate()).code).to.equal(0);
      expect(told(captured)).to.include('info: Service compute has drained');
    }));

  it('is dead however often it is killed', () =>
    withPart(async (part, captured) => {
      await part.kill();
      captured.lines.length = 0;
      await part.kill();
      expect([part.runs, captured.lines]).to.deep.equal([false, []]);
    }));
});

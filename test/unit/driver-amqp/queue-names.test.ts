import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Deadline, MessagingTimeoutError, TransportUrl } from '@ebbgate/core';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { withMachineLock } from '#driver-amqp/machine-lock.js';
import { readSettings } from '#driver-amqp/options.js';
import { isRunning, ownProcessGroup } from '#driver-amqp/process-group.js';
import { QueueManager, queueNames } from '#driver-amqp/queue-names.js';
import { type PrivateFolder, privateFolder } from '../../support/rigs/private-folder.js';

const NAMES = { hostname: 'host1', processname: 'proc1' };
let locks = 0;

describe('names of private queues', () => {
  it('are 32 random digits by default (AMQP-35)', async () => {
    const names = queueNames(readSettings(TransportUrl.parse('rabbit://h/'), {}));
    const found = await Promise.all([names.next(), names.next()]);
    for (const name of found) expect(name).to.match(/^[0-9a-f]{32}$/);
    expect(found[0]).to.not.equal(found[1]);
  });

  describe('by the queue manager', () => {
    let folder: PrivateFolder;
    let file: string;

    beforeEach(async () => {
      folder = await privateFolder('queue-names');
      file = join(folder.path, 'host1_proc1_qmanager');
    });

    afterEach(() => folder.remove());

    const manager = (): QueueManager => new QueueManager(NAMES, folder.path);

    it("count through all queues of the process, in Python's file and form (AMQP-35)", async () => {
      const [one, other] = [manager(), manager()];
      expect([await one.next(), await other.next(), await one.next()]).to.deep.equal([
        'host1:proc1:1',
        'host1:proc1:2',
        'host1:proc1:3',
      ]);
      const { id, startTime } = await ownProcessGroup();
      expect(await readFile(file, 'utf8')).to.equal(`${id}:3:${startTime}`);
      expect(await readdir(folder.path)).to.deep.equal(['host1_proc1_qmanager']);
    });

    it('are all different when many are asked for at once (AMQP-35)', async () => {
      const names = await Promise.all(Array.from({ length: 20 }, () => manager().next()));
      expect(new Set(names)).to.have.lengthOf(20);
    });

    it('are those of before after a restart, which has another group or start time (AMQP-35)', async () => {
      const { id, startTime } = await ownProcessGroup();
      for (const last of [
        `${id}:7:${startTime - 1}`,
        `999999999:7:${startTime}`,
        '',
        'x',
        '1:2',
        `${id}:x:1`,
      ]) {
        await writeFile(file, last);
        expect(await manager().next(), last).to.equal('host1:proc1:1');
      }
      await writeFile(file, `${id}:7:${startTime}\n`);
      expect(await manager().next()).to.equal('host1:proc1:8');
    });

    it('are refused when another program that runs has the same (AMQP-35)', async () => {
      const child = fork(import.meta.filename.replace('queue-names.test', 'fixtures/stay'), {
        detached: true,
      });
      try {
        await once(child, 'message');
        const group = { id: child.pid ?? 0, startTime: await startOf(child) };
        expect(await isRunning(group)).to.be.true;
        await writeFile(file, `${group.id}:3:${group.startTime}`);
        const error = await manager()
          .next()
          .then(
            () => undefined,
            (reason: unknown) => reason,
          );
        expect(error).to.include({ code: 'ERR_CONFIGURATION' });
        expect((error as Error).message)
          .to.include(`process group ${group.id}`)
          .and.include('host1:proc1');
        child.kill('SIGKILL');
        await once(child, 'exit');
        expect(await manager().next()).to.equal('host1:proc1:1');
      } finally {
        child.kill('SIGKILL');
      }
    });

    it('follow no link that somebody put in the place of the file (SEC-06)', async () => {
      await writeFile(join(folder.path, 'target'), '1:1:1');
      await symlink(join(folder.path, 'target'), file);
      const error = await manager()
        .next()
        .catch((reason: unknown) => reason);
      expect(error).to.include({ code: 'ERR_CONFIGURATION' });
      expect(await readFile(join(folder.path, 'target'), 'utf8')).to.equal('1:1:1');
    });

    it('say when the folder cannot be used (AMQP-20)', async () => {
      const error = await new QueueManager(NAMES, join(folder.path, 'none'))
        .next()
        .catch((reason: unknown) => reason);
      expect(error).to.include({ code: 'ERR_CONFIGURATION' });
      expect((error as Error).message).to.include('host1_proc1_qmanager cannot be used');
    });
  });
});

/** When the leader of the child's group was started: it is the child itself. */
async function startOf(child: ChildProcess): Promise<number> {
  const stat = await readFile(`/proc/${String(child.pid)}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);
}

describe('the lock of a machine', () => {
  const lockName = (): string => `ebbgate-test-${process.pid}-${(locks += 1)}`;

  it('lets one in at a time, and all in the end (AMQP-35)', async () => {
    const name = lockName();
    let inside = 0;
    let most = 0;
    const visit = async (): Promise<void> => {
      inside += 1;
      most = Math.max(most, inside);
      await new Promise(setImmediate);
      inside -= 1;
    };
    const deadline = Deadline.after(10_000);
    await Promise.all(Array.from({ length: 30 }, () => withMachineLock(name, deadline, visit)));
    expect(most).to.equal(1);
  });

  it('is free again when its holder fails or dies (AMQP-35)', async () => {
    const name = lockName();
    const failed = withMachineLock(name, Deadline.after(5000), () => Promise.reject(new Error('failed')));
    expect(await failed.catch((error: unknown) => (error as Error).message)).to.equal('failed');
    const holder = fork(import.meta.filename.replace('queue-names.test', 'fixtures/stay'), [name]);
    await once(holder, 'message');
    const waiting = withMachineLock(name, Deadline.after(5000), () => Promise.resolve('mine'));
    holder.kill('SIGKILL');
    expect(await waiting).to.equal('mine');
  });

  it('is given up for at the deadline (AMQP-20)', async () => {
    const name = lockName();
    let letGo: () => void = () => undefined;
    let entered: () => void = () => undefined;
    const inside = new Promise<void>((resolve) => (entered = resolve));
    const held = withMachineLock(name, Deadline.after(5000), () => {
      entered();
      return new Promise<void>((resolve) => (letGo = resolve));
    });
    await inside;
    const error = await withMachineLock(name, Deadline.after(30), () => Promise.resolve()).catch(
      (e: unknown) => e,
    );
    expect(error).to.be.instanceOf(MessagingTimeoutError);
    letGo();
    await held;
  });
});

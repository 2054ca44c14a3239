import { createTransport } from '@ebbgate/core';
import { redisDriver } from '@ebbgate/driver-redis';
import { NotificationListener, type ReceivedNotification } from '@ebbgate/notify';
import { expect } from 'chai';
import { afterEach, describe, it } from 'mocha';
import { DaemonProcess } from '../support/daemon-process.js';
import { OperatorCli } from '../support/operator-cli.js';
import { eventually } from '../support/rigs/deadline.js';
import { sharedRedis } from '../support/rigs/shared-redis.js';

const redis = await sharedRedis();
const LIMIT_MS = 20_000;

describe('what a cloud tells on its bus', function () {
  this.timeout(60_000);
  const undo: (() => unknown)[] = [];

  afterEach(async () => {
    for (const one of undo.splice(0).reverse()) await one();
  });

  it('reaches a listener: services, what is changed of them, and the boot of an instance (FD-26)', async () => {
    const url = redis.url('key_prefix=told');
    const transport = createTransport(url, { drivers: [redisDriver] });
    undo.push(() => transport.close());
    const heard: ReceivedNotification[] = [];
    const endpoint = { info: (_context: unknown, one: ReceivedNotification) => void heard.push(one) };
    const target = { exchange: 'nova', topic: 'versioned_notifications' };
    const listener = new NotificationListener(transport, [target], [endpoint]);
    await listener.start();
    undo.push(async () => {
      await listener.stop();
      await listener.wait();
    });
    const its = ['--hosts', 'a', '--database', 'memory:', '--control', 'none', '--boot-ms', '20'];
    const cloud = new DaemonProcess('', [
      ...['all-in-one', '--transport', url, '--notifications', 'versioned'],
      ...its,
    ]);
    undo.push(() => cloud.child.kill('SIGKILL'));
    await cloud.event(({ kind }) => kind === 'serves');
    await new OperatorCli({ EBBGATE_URL: url }).ok('instance', 'boot', 'vm', '--wait');
    await new OperatorCli({ EBBGATE_URL: url }).ok('host', 'set', 'a', '--disable');
    cloud.child.kill('SIGTERM');
    expect(await cloud.ended, cloud.log).to.deep.equal({ code: 0, signal: null });
    const types = (): string[] => heard.map(({ eventType }) => eventType);
    await eventually('the change', LIMIT_MS, () => types().includes('service.update'));
    expect(types()).to.include.members(['service.create', 'instance.create.start', 'instance.create.end']);
    const end = heard.find(({ eventType }) => eventType === 'instance.create.end');
    expect(end).to.deep.include({ publisherId: 'nova-compute:a', priority: 'info' });
    expect(end?.payload).to.include({
      'nova_object.name': 'InstanceCreatePayload',
      'nova_object.namespace': 'nova',
    });
  });
});

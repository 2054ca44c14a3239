import { createTransport, type Transport } from '@ebbgate/core';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import {
  ComputeApi,
  encodeObjects,
  LibvirtLiveMigrateData,
  MigrationPreCheckError,
  novaContext,
} from '@ebbgate/compute';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { computeMethods } from '#compute/rpc/methods.js';
import { rejectionOf } from '../support/deferred.js';
import { within } from '../support/rigs/deadline.js';
import { type NovaPeer, startNovaPeer } from '../support/rigs/python-nova.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';
import { sendByUs } from '../unit/compute/captured-rows.js';
import { type Capture, readCaptures } from '../unit/compute/captures.js';

const rabbit = await sharedRabbit();
const HOST = 'nova-compute';
const LIMIT_MS = 20_000;

/** What Nova's client sent, and its stub answered. */
const captures = readCaptures().filter(
  ({ name, method }) => computeMethods.has(method) && !/error|absent/.test(name),
);

/** A value in its wire form without the names of changed fields, which Python has in no order. */
function withoutChanges(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutChanges);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([name]) => name !== 'nova_object.changes');
  return Object.fromEntries(members.map(([name, member]) => [name, withoutChanges(member)]));
}

describe('a host of Nova that takes what our client sends', function () {
  this.timeout(60_000);
  let transport: Transport;
  let nova: NovaPeer;
  let api: ComputeApi;

  before(async function () {
    this.timeout(300_000); // Nova may have to be installed
    const url = await rabbit.vhost();
    nova = await startNovaPeer(url);
    for (const topic of ['compute', 'compute-alt'])
      await nova.python.send({ command: 'start_server', topic, server: HOST });
    transport = createTransport(url, { drivers: [rabbitDriver], controlExchange: 'nova' });
    api = new ComputeApi(transport, { versionCap: 'zed', opsTopic: 'compute-alt', rpcTimeoutMs: 10_000 });
  });

  after(async () => {
    await Promise.all([nova.python.kill(), transport.close()]);
  });

  const context = novaContext({ userId: 'u1', projectId: 'p1', roles: ['member'] });

  const send = (capture: Capture, ours: ComputeApi): Promise<unknown> =>
    sendByUs(ours, context, capture, HOST);

  for (const capture of captures) {
    it(`reads all of ${capture.method}, and finds that it fits its own method`, async () => {
      const { method, results } = capture;
      if (capture.kind === 'call')
        await nova.python.send({ command: 'answer', method, result: results.at(-1) });
      const answer = await within(method, LIMIT_MS, send(capture, api));
      const told = await within(`Nova takes ${method}`, LIMIT_MS, nova.python.handling(method));
      expect(told.topic).to.equal('compute');
      expect(withoutChanges(told.args)).to.deep.equal(withoutChanges(capture.args));
      expect(told.context).to.include({ user_id: 'u1', project_id: 'p1', request_id: context.requestId });
      const wire = encodeObjects(answer) ?? null;
      if (capture.kind === 'call') expect(withoutChanges(wire)).to.deep.equal(withoutChanges(results.at(-1)));
    });
  }

  it('is sent follow-ups on its own ops topic when it is new enough', async () => {
    const recent = new ComputeApi(transport, { opsTopic: 'compute-alt', rpcTimeoutMs: 10_000 });
    const capture = captures.find(({ method }) => method === 'rollback_live_migration_at_destination');
    if (!capture) throw new TypeError('it was recorded');
    await send(capture, recent);
    const told = await within('Nova takes it', LIMIT_MS, nova.python.handling(capture.method));
    expect(told.topic).to.equal('compute-alt');
  });

  it('refuses with its own exception, and we get ours', async () => {
    const capture = captures.find(({ method }) => method === 'check_can_live_migrate_destination');
    if (!capture) throw new TypeError('it was recorded');
    const raises = 'nova.exception.MigrationPreCheckError';
    await nova.python.send({
      command: 'answer',
      method: capture.method,
      raises,
      kwargs: { reason: 'no room' },
    });
    const error = await rejectionOf(within('the refusal', LIMIT_MS, send(capture, api)));
    expect(error).to.be.instanceOf(MigrationPreCheckError);
    expect(error.message).to.equal('Migration pre-check error: no room');
  });

  it('gives us its objects', async () => {
    const capture = captures.find(({ method }) => method === 'pre_live_migration');
    if (!capture) throw new TypeError('it was recorded');
    const data = LibvirtLiveMigrateData.create({ image_type: 'raw', wait_for_vif_plugged: false });
    await nova.answers(capture.method, data);
    const answer = await within('the answer', LIMIT_MS, send(capture, api));
    expect(LibvirtLiveMigrateData.is(answer) && answer.get('image_type')).to.equal('raw');
  });
});

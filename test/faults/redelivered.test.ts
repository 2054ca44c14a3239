import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { deferred } from '../support/deferred.js';
import { eventually } from '../support/rigs/deadline.js';
import { send, source, toTopic } from './bed.js';
import { RabbitBed } from './rabbit-bed.js';

const WAIT_MS = 10_000;

describe('a request that comes again, with RabbitMQ', function () {
  this.timeout(40_000);
  let bed: RabbitBed;

  beforeEach(async () => {
    bed = await RabbitBed.start();
  });

  afterEach(() => bed.end());

  it('is marked, counted and told of when it runs, for a sibling may have run it (RPC-19)', async () => {
    const where = source();
    const first = await bed.connected(bed.url);
    const fetched = await bed.listen(first, where, false); // by a server that dies with it
    const client = bed.client(await bed.connected(bed.direct), where);
    const call = client.call({}, 'm', { id: 'again' });
    await eventually('the request', WAIT_MS, () => fetched.deliveries.length === 1);
    await bed.proxy.setDoorman('refuse');
    bed.proxy.cut();
    const transport = await bed.connected(bed.direct);
    const server = await bed.serve(transport, { ...where, server: 'sibling' }, { m: () => 'once' });
    expect(await call).to.equal('once');
    expect(await client.call({}, 'm')).to.equal('once');
    expect(server.counts).to.include({ run: 2, redelivered: 1 });
    const lines = bed.log.at('info').filter(({ message }) => message.includes('delivered before'));
    expect(lines.map(({ fields }) => fields['topic'])).to.deep.equal([where.topic]);
  });

  it('is not run by a server that has run it (RPC-19, AMQP-29)', async () => {
    const where = source();
    const transport = await bed.connected(bed.url);
    const hold = deferred();
    let runs = 0;
    const m = (): Promise<void> => {
      runs += 1;
      return hold.promise;
    };
    const server = await bed.serve(transport, where, { m });
    const message = { 'oslo.message': JSON.stringify({ method: 'm', args: {}, _unique_id: 'same' }) };
    const text = JSON.stringify({ 'oslo.version': '2.0', ...message });
    const sender = await bed.connected(bed.direct);
    for (let times = 0; times < 3; times += 1) await send(sender, toTopic(where), text);
    await eventually('the copies', WAIT_MS, () => server.counts.duplicate === 2);
    hold.resolve();
    await server.stop();
    expect((await server.wait()).unconfirmed).to.deep.equal([]);
    const queue = (await bed.node.view.queues(bed.vhost)).find(({ name }) => name === where.topic);
    expect([runs, queue?.messages]).to.deep.equal([1, 0]); // the copies were acknowledged
  });
});

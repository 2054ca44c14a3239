import { AuthenticationError } from '@ebbgate/core';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { within } from '../support/rigs/deadline.js';
import { NOT_SAVED, RedisProcess } from '../support/rigs/redis-process.js';
import { failure, send, source, toTopic } from './bed.js';
import { RedisDriverBed } from './redis-bed.js';

const WAIT_MS = 20_000;

describe('a Redis whose administrator has taken commands away (rename-command)', function () {
  this.timeout(60_000);
  let bed: RedisDriverBed;

  beforeEach(() => {
    bed = new RedisDriverBed();
  });

  afterEach(() => bed.end());

  async function without(...names: readonly string[]): Promise<string> {
    const taken = names.map((name) => `rename-command ${name} ""`);
    const server = await RedisProcess.start({ config: [...NOT_SAVED, ...taken] });
    bed.onEnd(() => server.dispose());
    return server.url();
  }

  it('is used when only those are away that it can do without (REDIS-14, AMQP-18)', async () => {
    const url = await without('EVALSHA', 'ROLE', 'CONFIG', 'SCRIPT');
    const where = source();
    await bed.serve(await bed.connected(url), where, { ping: () => 'pong' });
    expect(await bed.client(await bed.connected(url), where).call({}, 'ping')).to.equal('pong');
  });

  it('that cannot be used is told at once to all who ask for something (AMQP-18, AMQP-20)', async () => {
    const transport = await bed.connected(await without('EVALSHA', 'EVAL'));
    const outcomes = [
      failure(send(transport, toTopic(source()), 'x')),
      failure(transport.listen(source(), { credit: 1 }, () => {})),
      failure(bed.client(transport, source()).call({}, 'ping')),
    ];
    for (const error of await within('all of them', WAIT_MS, Promise.all(outcomes))) {
      expect(error).to.be.instanceOf(AuthenticationError);
      expect(error.message).to.match(/unknown command .?eval/i);
    }
  });
});

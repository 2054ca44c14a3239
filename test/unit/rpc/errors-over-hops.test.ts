import { RemoteError, RemoteErrorRegistry } from '@ebbgate/rpc';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { bytesDriver } from '../../support/bytes-driver.js';
import { rejectionOf } from '../../support/deferred.js';
import { innerOf } from '../../support/recorded.js';
import { FORMS, useBed } from '../../support/rpc-bed.js';

class DiskFull extends Error {
  code = 'E_FULL';
  info = { disks: ['vda'] };
}

class InstanceNotFound extends Error {}

const remoteErrors = new RemoteErrorRegistry([DiskFull]);
remoteErrors.register(InstanceNotFound, { module: 'nova.exception' });

for (const form of FORMS) {
  describe(`errors of methods with messages as ${form}`, () => {
    const bed = useBed(form);

    it('keep type, code and data over the hops, and share nothing between the receivers (RPC-16, CORE-06)', async () => {
      const caught: DiskFull[] = [];
      await bed().serve(
        {
          fail() {
            throw new DiskFull('deep down');
          },
        },
        {},
        { topic: 'c' },
      );
      const c = bed().client({ remoteErrors }, { topic: 'c' });
      await bed().serve(
        {
          async pass() {
            try {
              await c.call(undefined, 'fail');
            } catch (error) {
              caught.push(error as DiskFull);
              throw error;
            }
          },
        },
        {},
        { topic: 'b' },
      );
      const registered = await rejectionOf(bed().client({ remoteErrors }, { topic: 'b' }).call({}, 'pass'));
      if (!(registered instanceof DiskFull)) throw registered;
      expect(registered).to.deep.include({ message: 'deep down', code: 'E_FULL', info: { disks: ['vda'] } });
      registered.info.disks.push('vdb');
      expect(caught[0]?.info.disks).to.deep.equal(['vda']);
      const again = await rejectionOf(bed().client({}, { topic: 'b' }).call({}, 'pass'));
      expect(again).to.be.instanceOf(RemoteError);
      expect(again).to.include({ remoteType: 'DiskFull', remoteMessage: 'deep down', code: 'ERR_REMOTE' });
    });

    it('that no endpoint took further on are failures of the method here, not undispatchable here (CORE-12)', async () => {
      await bed().serve({ m: () => 1 }, {}, { topic: 'c' });
      const c = bed().client({}, { topic: 'c' });
      const server = await bed().serve({ outer: () => c.call(undefined, 'missing') }, {}, { topic: 'b' });
      const error = await rejectionOf(bed().client({}, { topic: 'b' }).call({}, 'outer'));
      expect(error).to.include({ code: 'ERR_NO_SUCH_METHOD', method: 'missing' });
      expect(server.counts.undispatchable).to.equal(0);
      expect(bed().dropped.map(({ topic }) => topic)).to.deep.equal(['c']);
      expect(
        bed()
          .log.at('error')
          .map(({ fields }) => fields['method']),
      ).to.deep.equal(['outer']);
    });
  });
}

describe('errors of registered types on the wire', () => {
  const failures: Record<string, unknown>[] = [];
  const bed = useBed('objects', () => [
    bytesDriver((destination, message) => {
      if (destination.kind !== 'reply') return;
      const { failure } = innerOf(Buffer.from(message.body.encode()).toString());
      if (typeof failure === 'string') failures.push(JSON.parse(failure) as Record<string, unknown>);
    }),
  ]);

  it('travel under the names registered at the server, so that Python knows them too (RPC-16)', async () => {
    const endpoint = {
      find() {
        throw new InstanceNotFound('no i-1');
      },
    };
    await bed().serve(endpoint, { remoteErrors });
    await bed().serve(endpoint, {}, { topic: 'plain' });
    const client = bed().client({ remoteErrors });
    const error = await rejectionOf(client.call({}, 'find'));
    expect(error).to.be.instanceOf(InstanceNotFound).with.property('message', 'no i-1');
    await rejectionOf(client.prepare({ topic: 'plain' }).call({}, 'find'));
    expect(failures.map((one) => [one['module'], one['class']])).to.deep.equal([
      ['nova.exception', 'InstanceNotFound'],
      ['ebbgate', 'InstanceNotFound'],
    ]);
  });
});

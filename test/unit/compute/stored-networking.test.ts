import type { InstanceExternalEvent } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { MemoryNetworkStore } from '#compute/db/network-store.js';
import { StoredNetworking } from '#compute/network/stored.js';

interface Bed {
  readonly one: StoredNetworking;
  readonly two: StoredNetworking;
  readonly sent: InstanceExternalEvent[];
  readonly store: MemoryNetworkStore;
  readonly errors: unknown[];
}

/** Two of them with one store, as two conductors have. */
function bed(notify?: () => Promise<void>): Bed {
  const store = new MemoryNetworkStore();
  const sent: InstanceExternalEvent[] = [];
  const errors: unknown[] = [];
  const make = (): StoredNetworking =>
    new StoredNetworking(store, {
      notify: async (event) => {
        sent.push(event);
        await notify?.();
      },
      onError: (error) => errors.push(error),
    });
  return { one: make(), two: make(), sent, store, errors };
}

describe('the fake network service of several conductors', () => {
  it('makes ports once, and knows them everywhere (GS-19)', async () => {
    const { one, two } = bed();
    const [ports, same] = await Promise.all([one.allocate('i'), two.allocate('i')]);
    expect(ports).to.have.length(1);
    expect(same).to.deep.equal(ports);
    expect(await two.portsOf('i')).to.deep.equal(ports);
    await two.deallocate('i');
    expect(await one.portsOf('i')).to.deep.equal([]);
  });

  it('confirms interfaces at once, or when it is told to, by whichever of them', async () => {
    const { one, two, sent } = bed();
    const [port] = await one.allocate('i');
    await two.plug('i', 'a');
    expect(sent.map((event) => event.get('tag'))).to.deep.equal([port]);
    await one.hold('i');
    await one.hold('i');
    await two.plug('i', 'a');
    expect(sent).to.have.length(1);
    await two.release('i');
    await one.release('i');
    expect(
      sent.map((event) => `${event.get('name')} ${event.get('status')} ${event.find('tag') ?? ''}`),
    ).to.deep.equal(Array(2).fill(`network-vif-plugged completed ${port ?? ''}`));
  });

  it('binds ports to one more host, until they belong to it or that is taken back', async () => {
    const { one, two, store } = bed();
    const [port] = await one.allocate('i');
    const known = async (): Promise<unknown> => store.read('i');
    const its = { ports: [port], held: null };
    await one.activateBinding('i', 'a');
    await one.bind('i', 'a');
    await one.bind('i', 'b');
    await two.bind('i', 'b');
    expect(await known()).to.deep.equal({ ...its, host: 'a', also: ['b'] });
    await two.unbind('i', 'a'); // they belong to it
    await two.activateBinding('i', 'b');
    expect(await known()).to.deep.equal({ ...its, host: 'b', also: [] });
    await one.bind('i', 'c');
    await two.unbind('i', 'c');
    await two.unbind('j', 'c');
    await two.bind('j', 'c');
    expect(await known()).to.deep.equal({ ...its, host: 'b', also: [] });
    expect(await store.read('j')).to.equal(undefined);
  });

  it('keeps nothing of an instance that has nothing, and tells of events that could not be sent', async () => {
    const { one, store, errors } = bed(() => Promise.reject(new Error('no broker')));
    await one.activateBinding('i', 'a');
    expect(await store.read('i')).to.equal(undefined);
    await one.hold('i');
    await one.allocate('i');
    await one.activateBinding('i', 'a');
    expect(await store.read('i')).to.deep.include({ host: 'a' });
    await one.release('i');
    await one.plug('i', 'a');
    await one.deallocate('i');
    expect(await store.read('i')).to.equal(undefined);
    expect(errors.map(String)).to.deep.equal(['Error: no broker']);
  });
});

import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { consumerName, encodeName, Keys } from '#driver-redis/keys.js';
import { heldBy, sourceKeys } from '#driver-redis/source-keys.js';

const keys = new Keys('ebbgate');
const text = fc.string({ unit: 'binary' });

describe('the keys of the Redis driver', () => {
  it('are what the wire document says', () => {
    const ofTopic = keys.ofTopic({ exchange: 'openstack', topic: 'compute' });
    expect(ofTopic.topic).to.deep.equal({
      list: 'ebbgate:{openstack/compute}:topic',
      back: 'ebbgate:{openstack/compute}:topic:back',
      bell: 'ebbgate:{openstack/compute}:topic:bell',
    });
    expect(ofTopic.server('host-1').list).to.equal('ebbgate:{openstack/compute}:server:host-1');
    expect(ofTopic.fanout('0a').list).to.equal('ebbgate:{openstack/compute}:fanout:0a');
    expect(keys.ofReplies('reply_0a').list).to.equal('ebbgate:{reply_0a}:replies');
    expect(ofTopic.destination('host-1')).to.deep.include({
      declared: ofTopic.declared,
      member: 'server:host-1',
    });
    expect(ofTopic.members('host-1')).to.deep.equal([ofTopic.destination(undefined).member, 'server:host-1']);
    expect(consumerName('host-1', '0a', 2)).to.equal('host-1/0a/2');
  });

  it('of one listener share a hash tag, and with it a slot of a cluster', () => {
    const { queues, bells, leases, declared, subscribers, ownBell, base } = sourceKeys(
      keys,
      { exchange: 'e{x}', topic: '}t{', server: '{s}' },
      '0a',
    );
    const tags = [...queues, ...bells, leases, declared, subscribers, ownBell, heldBy(base, 'a/b/1')].map(
      (key) => /\{([^}]*)\}/.exec(key)?.[1],
    );
    expect(new Set(tags)).to.deep.equal(new Set(['e%7Bx%7D/%7Dt%7B']));
  });

  it('differ for any two addresses, whatever is in their names (CORE-06, SEC-06)', () => {
    const address = fc.record({ exchange: text, topic: text, server: text });
    const all = ({
      exchange,
      topic,
      server,
    }: {
      exchange: string;
      topic: string;
      server: string;
    }): string[] => {
      const ofTopic = keys.ofTopic({ exchange, topic });
      return [ofTopic.topic.list, ofTopic.server(server).list, ofTopic.subscribers];
    };
    fc.assert(
      fc.property(address, address, (one, other) => {
        const [topic, server, fanout] = all(one);
        const same = one.exchange === other.exchange && one.topic === other.topic;
        expect(all(other).includes(topic ?? '')).to.equal(same);
        expect(all(other).includes(server ?? '')).to.equal(same && one.server === other.server);
        expect(all(other).includes(fanout ?? '')).to.equal(same);
      }),
    );
  });

  it('hold no sign that means something in a key or to a script (CORE-06, SEC-06)', () => {
    fc.assert(
      fc.property(text, (name) => {
        expect(encodeName(name)).to.match(/^[\w.%-]*$/);
      }),
    );
  });

  it('tell names apart that UTF-8 cannot hold', () => {
    const names = ['\ud800', '\udc00', '\ufffd', '%ud800', 'ud800', ''];
    expect(new Set(names.map(encodeName)).size).to.equal(names.length);
  });
});

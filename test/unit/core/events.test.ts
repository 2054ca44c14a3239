import { runInNewContext } from 'node:vm';
import { TypedEvents } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { turn } from '../../support/deferred.js';

interface Happenings {
  said: string;
  error: Error;
}

function bed() {
  const failures: [unknown, string][] = [];
  const events = new TypedEvents<Happenings>((error, event) => failures.push([error, event]));
  return { events, failures };
}

describe('typed events', () => {
  it('reach every listener until it leaves', () => {
    const { events } = bed();
    const heard: string[] = [];
    const leave = events.on('said', (text) => heard.push(`1 ${text}`));
    events.on('said', (text) => heard.push(`2 ${text}`));
    events.emit('said', 'a');
    leave();
    leave();
    events.emit('said', 'b');
    expect(heard).to.deep.equal(['1 a', '2 a', '2 b']);
  });

  it('tell whether anybody listens', () => {
    const { events } = bed();
    expect(events.has('said')).to.equal(false);
    const leave = events.on('said', () => {});
    expect(events.has('said')).to.equal(true);
    leave();
    expect(events.has('said')).to.equal(false);
  });

  it('do not throw when nobody hears an error', () => {
    const { events } = bed();
    expect(() => events.emit('error', new Error('unheard'))).to.not.throw();
  });

  it('go on when a listener throws or rejects, and report it once (AMQP-06, CORE-11)', async () => {
    const { events, failures } = bed();
    const [thrown, rejected] = [new Error('thrown'), new Error('rejected')];
    const heard: string[] = [];
    events.on('said', () => {
      throw thrown;
    });
    // An async listener is what users write, and types let it pass as one that returns nothing.
    const asynchronous: (text: string) => unknown = async () => Promise.reject(rejected);
    events.on('said', asynchronous);
    events.on('said', (text) => heard.push(text));
    events.emit('said', 'a');
    await turn();
    expect(heard).to.deep.equal(['a']);
    expect(failures).to.deep.equal([
      [thrown, 'said'],
      [rejected, 'said'],
    ]);
  });

  it('report a promise of another realm that rejects too (AMQP-06, CORE-11)', async () => {
    const { events, failures } = bed();
    const foreign = runInNewContext('() => Promise.reject("far away")') as () => undefined; // as the text says
    events.on('said', foreign);
    events.emit('said', 'a');
    await turn();
    expect(failures).to.deep.equal([['far away', 'said']]);
  });
});

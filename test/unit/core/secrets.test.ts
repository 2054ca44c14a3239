import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { inspect } from 'node:util';
import {
  Deadline,
  diagnostics,
  MessageServer,
  redactedCause,
  ServerListenError,
  type Transport,
  TransportUrl,
} from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { CapturedLog } from '../../support/captured-log.js';
import { turn } from '../../support/deferred.js';
import { onFakeClock } from '../../support/fake-clock.js';
import { scriptedTransport, SOURCE, wireMessage } from './support/scripted-driver.js';
import { TOPIC } from './support/memory-bed.js';

const SECRET = 's3cret-hunter2';
const URL_TEXT = `scripted://user:${SECRET}@host:5672,admin:${SECRET}@other/vhost?password=${SECRET}`;

/** Everything that hangs on a value, as text, by every way that somebody might print it. */
function shown(value: unknown): string {
  const all = {
    depth: 30,
    showHidden: true,
    maxArrayLength: null,
    maxStringLength: null,
    getters: true,
  } as const;
  const json = JSON.stringify(value, (_name, each: unknown) =>
    each instanceof Error
      ? {
          members: Object.entries(each),
          name: each.name,
          message: each.message,
          stack: each.stack,
          cause: each.cause,
        }
      : each,
  );
  return [inspect(value, all), json, String(value), value instanceof Error ? value.stack : ''].join('\n');
}

/** An error of a client library, as they are: the secret is everywhere in it. */
function leaky(): Error {
  const inner = Object.assign(new Error(`connect ECONNREFUSED ${URL_TEXT}`), { address: URL_TEXT });
  return Object.assign(new Error(`failed for ${URL_TEXT}`, { cause: inner }), {
    options: { password: SECRET, url: URL_TEXT },
    command: ['AUTH', SECRET],
  });
}

/** Does everything with a transport whose driver fails at everything, and keeps what is told. */
async function failEverywhere(): Promise<unknown[]> {
  const told: unknown[] = [];
  const log = new CapturedLog();
  const { transport, driver } = scriptedTransport({ logger: log }, URL_TEXT);
  const keep = (payload: unknown): void => void told.push(payload);
  const channels = Object.values(diagnostics);
  for (const each of channels) subscribe(each.name, keep);
  for (const name of ['connection', 'listener', 'dropped'] as const) transport.events.on(name, keep);
  const attempt = async (what: () => unknown): Promise<void> => {
    try {
      await what();
      throw new Error('It was to fail');
    } catch (error) {
      told.push(error);
    }
  };
  const fail = (): Promise<never> => Promise.reject(leaky());
  const send = (): unknown =>
    transport.publish(TOPIC, wireMessage(), { deadline: Deadline.after(1000), mandatory: true, retry: 0 });
  try {
    driver.onConnect = fail;
    await attempt(() => transport.connect());
    driver.onConnect = () => Promise.resolve();
    await transport.connect();
    Object.assign(driver, { onPublish: fail, onListen: fail, onOpenReplyQueue: fail });
    await attempt(send);
    driver.onPublish = () => {
      throw leaky();
    };
    await attempt(send);
    await attempt(() => transport.openReplyQueue(() => {}));
    const handler = {
      read: (): string => 'x',
      idOf: () => undefined,
      run: fail,
    };
    const server = new MessageServer(transport, SOURCE, handler);
    await attempt(() => server.start());
    driver.onListen = (listener) => Promise.resolve(listener);
    await server.start();
    Object.assign(driver.listener, { onStop: fail, onClose: fail, onPause: fail });
    driver.listener.deliver();
    handler.read = () => {
      throw leaky();
    };
    driver.listener.deliver();
    await attempt(() => server.stop());
    told.push(await server.wait());
    driver.context.events.error(leaky());
    driver.context.events.connection('disconnected', leaky());
    driver.context.events.listener({ source: SOURCE, subscribed: false }, leaky());
    transport.events.on('connection', () => {
      throw leaky();
    });
    const asynchronous: () => unknown = async () => Promise.reject(leaky());
    transport.events.on('listener', asynchronous);
    driver.context.events.connection('connected');
    driver.context.events.listener({ source: SOURCE, subscribed: true });
    transport.events.on('error', keep);
    driver.context.events.error(leaky());
    driver.onClose = fail;
    await transport.close();
    await attempt(() => transport.connect());
    await turn();
  } finally {
    for (const each of channels) unsubscribe(each.name, keep);
  }
  told.push(transport, transport.url, transport.status(), server(transport), log.lines);
  return told;
}

function server(transport: Transport): unknown {
  return new MessageServer(transport, SOURCE, { read: String, idOf: () => undefined, run: () => {} });
}

describe('secrets', () => {
  it('leave by no error, cause, event, log line or diagnostic, whatever a driver throws (SEC-04)', async () => {
    expect(shown(leaky())).to.include(SECRET); // what is looked at shows it
    const told = await failEverywhere();
    expect(told.length).to.be.greaterThan(20);
    for (const each of told) expect(shown(each)).to.not.include(SECRET);
  });

  it('leave by no log line at any level, debug included (SEC-04)', async () => {
    await onFakeClock(async () => {
      const lines = (await failEverywhere()).at(-1) as CapturedLog['lines']; // put there last
      for (const level of ['warn', 'error'] as const) {
        expect(lines.filter((line) => line.level === level).length, level).to.be.greaterThan(0);
      }
      expect(shown(lines)).to.not.include(SECRET);
    });
  });

  it('leave by no way of printing a URL, its parts or a transport, but by format() (SEC-04)', () => {
    const url = TransportUrl.parse(URL_TEXT);
    for (const each of [url, { url }, [url], url.hosts, url.query])
      expect(shown(each)).to.not.include(SECRET);
    expect(url.format()).to.include(SECRET);
  });

  it('leave by no refusal of a URL (SEC-04)', () => {
    const urls = [
      `scripted://user:${SECRET}@host:port/`,
      `scripted://user:${SECRET}`,
      `user:${SECRET}@host`,
      `scripted://user:${SECRET}%zz@host/`,
      `unknown://user:${SECRET}@host/`,
      `scripted://user:a/${SECRET}@host/`,
    ];
    for (const text of urls) {
      let refusal: unknown;
      try {
        scriptedTransport({}, text);
      } catch (error) {
        refusal = error;
      }
      expect(shown(refusal), text.replace(SECRET, '…')).to.not.include(SECRET);
    }
  });

  it('leave by no error that wraps one of somebody else (SEC-04)', () => {
    const error = new ServerListenError('Cannot listen', { cause: redactedCause(leaky()) });
    expect(shown(error)).to.not.include(SECRET);
  });
});

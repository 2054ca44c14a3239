import {
  createTransport,
  type Destination,
  type Driver,
  type DriverFactory,
  type WireMessage,
} from '@ebbgate/core';
import { RpcClient } from '@ebbgate/rpc';
import { readRequest, replyMessage, type RpcReply } from '#rpc/envelope.js';
import { type ReplyWaiters, replyWaiters } from '#rpc/reply-waiters.js';
import { CapturedLog } from './captured-log.js';

type Publish = (destination: Destination, message: WireMessage) => void | Promise<void>;

/** A driver whose publish is the test's, and through which the test sends replies. */
export class ScriptedDriver {
  publish: Publish = () => {};
  opened = 0;
  refuseReplyQueue = 0;
  onReply: (message: WireMessage) => void = () => {};

  get factory(): DriverFactory {
    return {
      name: 'scripted',
      schemes: ['scripted'],
      create: (): Driver => ({
        features: createTransport('memory:').features,
        connect: () => Promise.resolve(),
        close: () => Promise.resolve(),
        status: () => ({ connection: 'connected', listeners: [] }),
        publish: (destination, message) => this.publish(destination, message),
        listen: () => Promise.reject(new Error('this driver does not listen')),
        openReplyQueue: (onReply) => {
          this.opened += 1;
          if (this.opened <= this.refuseReplyQueue) return Promise.reject(new Error('no reply queue today'));
          this.onReply = onReply;
          return Promise.resolve({ address: 'replies', close: () => Promise.resolve() });
        },
      }),
    };
  }

  answer(message: WireMessage, parts: Partial<RpcReply> = {}): void {
    const { msgId = '' } = readRequest(message);
    this.onReply(replyMessage({ msgId, result: 'ok', failure: null, ending: true, ...parts }));
  }
}

/** A client over a scripted driver, and what lies below it. */
export interface ScriptedClient {
  readonly driver: ScriptedDriver;
  readonly client: RpcClient;
  readonly waiters: ReplyWaiters;
  readonly log: CapturedLog;
}

export function scriptedClient(): ScriptedClient {
  const driver = new ScriptedDriver();
  const log = new CapturedLog();
  const transport = createTransport('scripted:', { drivers: [driver.factory], logger: log });
  return { driver, client: new RpcClient(transport, { topic: 't' }), waiters: replyWaiters(transport), log };
}

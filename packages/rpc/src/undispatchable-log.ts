import type { Transport } from '@ebbgate/core';
import type { RpcRequest } from './envelope.js';
import { NoSuchMethodError, UnsupportedVersionError } from './errors.js';
import { remoteOrigin } from './failure.js';

/** Different requests told of in the log; beyond them only counted, so that a flood cannot fill a disk. */
const MOST_LOGGED = 100;
/** Most characters of a name that a peer chose: it may be anything. */
const MOST_NAME = 200;

/** Makes requests visible that no endpoint takes, above all casts (RPC-12). */
export class UndispatchableLog {
  readonly #transport: Transport;
  readonly #logged = new Set<string>();
  #count = 0;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Requests that no endpoint took. */
  get count(): number {
    return this.#count;
  }

  /** True when `error` says that no endpoint took the request; then it was logged, once a kind, and told as an event. */
  report(request: RpcRequest, topic: string, error: unknown): boolean {
    if (!(error instanceof NoSuchMethodError || error instanceof UnsupportedVersionError)) return false;
    if (remoteOrigin(error)) return false; // a method of ours ran, and met it at another server
    this.#count += 1;
    const method = shown(request.method);
    const namespace = request.namespace === null ? null : shown(request.namespace);
    const version = request.version === undefined ? undefined : shown(request.version);
    const detail = shown(error.message);
    const key = JSON.stringify([method, namespace, version]);
    if (!this.#logged.has(key) && this.#logged.size < MOST_LOGGED) {
      this.#logged.add(key);
      this.#transport.logger.warn({ method, namespace, version, topic }, `A request was refused: ${detail}`);
    }
    this.#transport.events.emit('dropped', {
      reason: 'undispatchable',
      messageId: request.uniqueId,
      topic,
      detail,
    });
    return true;
  }
}

function shown(name: string): string {
  return name.length <= MOST_NAME ? name : `${name.slice(0, MOST_NAME)}…`;
}

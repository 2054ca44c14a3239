import type { Transport } from '@ebbgate/core';
import { type CallerContext, type ClientInterceptor, RpcClient, type SendOptions } from '@ebbgate/rpc';
import { checkArgs, checkResult } from './check-args.js';
import { remoteErrors } from './remote-errors.js';
import {
  type ArgsOf,
  type CallMethod,
  type CastMethod,
  COMPUTE_METHODS,
  type ComputeMethods,
  type MethodRow,
  type ResultOf,
} from './methods.js';
import { objectSerializer } from './object-serializer.js';
import { OPS_CAPABLE_VERSION, RPC_TOPIC, RPC_TOPIC_OPS } from './topics.js';

/** How compute hosts are called. All may be left out. */
export interface ComputeApiOptions {
  /** Newest version that every receiver knows; absent: no cap. Below 6.5 nothing is sent to the ops topic. */
  readonly versionCap?: string | undefined;
  /** Default {@link RPC_TOPIC_OPS}; Nova itself says `compute-alt`. */
  readonly opsTopic?: string;
  /** Time-out of a call, and of a long call without a sign of life; default 60000. */
  readonly rpcTimeoutMs?: number;
  /** Time-out of a long call as a whole; default 1800000. */
  readonly longRpcTimeoutMs?: number;
  /** Around every call and cast. */
  readonly interceptors?: readonly ClientInterceptor[];
}

/** What of a message depends on the version cap. */
interface Form {
  readonly version: string;
  readonly dropped: ReadonlySet<string>;
}

/**
 * Calls compute hosts by the table of methods. One client, made for topic `compute` (GS-38); each message is prepared for
 * its host, its topic and its own version, and the client itself never changes (COMP-05).
 */
export class ComputeApi {
  readonly #client: RpcClient;
  readonly #opsTopic: string;
  readonly #rpcTimeoutMs: number;
  readonly #longRpcTimeoutMs: number;

  constructor(transport: Transport, options: ComputeApiOptions = {}) {
    const { versionCap = null, opsTopic = RPC_TOPIC_OPS, interceptors = [] } = options;
    this.#opsTopic = opsTopic;
    this.#rpcTimeoutMs = options.rpcTimeoutMs ?? 60_000;
    this.#longRpcTimeoutMs = options.longRpcTimeoutMs ?? 1_800_000;
    const target = { topic: RPC_TOPIC, version: '6.0' };
    const how = { versionCap, serializer: objectSerializer, remoteErrors, interceptors };
    this.#client = new RpcClient(transport, target, how);
  }

  /** What it sends with. */
  get transport(): Transport {
    return this.#client.transport;
  }

  /** The topic of a method's messages: ops where the table says so and the receivers are new enough (GS-39, GS-40). */
  topicOf(method: keyof ComputeMethods): string {
    const { topic } = COMPUTE_METHODS[method];
    return topic === 'ops' && this.#client.canSendVersion(OPS_CAPABLE_VERSION) ? this.#opsTopic : RPC_TOPIC;
  }

  /**
   * Calls a method of one host.
   * @throws (rejects with) what the host threw, and whatever `RpcClient.call` rejects with.
   */
  async call<Name extends CallMethod<ComputeMethods>>(
    context: CallerContext,
    method: Name,
    host: string,
    args: ArgsOf<ComputeMethods[Name]>,
    options?: SendOptions,
  ): Promise<ResultOf<ComputeMethods[Name]>> {
    const row: ComputeMethods[Name] = COMPUTE_METHODS[method];
    const { client, sent } = this.#prepare(method, row, host, args);
    return checkResult(method, row, await client.call(context, method, sent, options));
  }

  /** Sends a request to one host; resolves when the broker has it. */
  async cast<Name extends CastMethod<ComputeMethods>>(
    context: CallerContext,
    method: Name,
    host: string,
    args: ArgsOf<ComputeMethods[Name]>,
    options?: SendOptions,
  ): Promise<void> {
    const { client, sent } = this.#prepare(method, COMPUTE_METHODS[method], host, args);
    await client.cast(context, method, sent, options);
  }

  #prepare(method: keyof ComputeMethods, row: MethodRow, host: string, args: object) {
    const { version, dropped } = this.#formOf(row);
    const checked = checkArgs(method, row, args as Record<string, unknown>); // by name; checked here
    const sent = Object.fromEntries(Object.entries(checked).filter(([name]) => !dropped.has(name)));
    const long = row.kind === 'long-call';
    const client = this.#client.prepare({
      topic: this.topicOf(method),
      server: host,
      version,
      timeoutMs: long ? this.#longRpcTimeoutMs : this.#rpcTimeoutMs,
      callMonitorTimeoutMs: long ? this.#rpcTimeoutMs : null,
    });
    return { client, sent };
  }

  /** The newest form of the message that the cap allows. */
  #formOf(row: MethodRow): Form {
    let { version } = row;
    const dropped = new Set<string>();
    for (const form of row.older ?? []) {
      if (this.#client.canSendVersion(version)) break;
      version = form.version;
      for (const name of form.drop) dropped.add(name);
    }
    return { version, dropped };
  }
}

import type { Transport } from '@ebbgate/core';
import {
  type CallerContext,
  type ClientInterceptor,
  DrainingError,
  RpcClient,
  RpcVersionCapError,
  type SendOptions,
} from '@ebbgate/rpc';
import type { ServiceRepository } from '../db/repositories.js';
import { checkArgs, checkResult } from './check-args.js';
import { HOST_NAMESPACE, HOST_RPC_VERSION } from './host-methods.js';
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
import { type TopicOptions, type TopicTable, topicTable } from './topic-table.js';
import { OPS_CAPABLE_VERSION, RPC_TOPIC } from './topics.js';
import { VersionCaps, type VersionCapSources } from './version-caps.js';

/**
 * How compute hosts are called. All may be left out: without a cap the receivers are taken to know every version. Under a
 * cap below 6.5 nothing is sent to the ops topic.
 */
export interface ComputeApiOptions extends TopicOptions, Omit<VersionCapSources, 'services'> {
  /** Who is there: of which version, for the cap `auto`, and who drains; absent: that is not looked up. */
  readonly services?: Pick<ServiceRepository, 'list' | 'find'> | undefined;
  /** Time-out of a call, and of a long call without a sign of life; default 60000. */
  readonly rpcTimeoutMs?: number;
  /** Time-out of a long call as a whole; default 1800000. */
  readonly longRpcTimeoutMs?: number;
  /** Around every call and cast. */
  readonly interceptors?: readonly ClientInterceptor[];
}

/** A host that is asked to drain has nothing to do before it answers. */
const DRAIN_ANSWER_MS = 10_000;

/** What of a message depends on the version that its receiver knows. */
interface Form {
  readonly version: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/**
 * Calls compute hosts by the table of methods. One client, made for topic `compute` (GS-38); each message is prepared for
 * its host, its topic and its own version, and the client itself never changes (COMP-05).
 */
export class ComputeApi {
  readonly #client: RpcClient;
  /** The same under each cap that was met; there are few. */
  readonly #capped = new Map<string | null, RpcClient>();
  readonly #topics: TopicTable;
  readonly #caps: VersionCaps;
  readonly #services: ComputeApiOptions['services'];
  /** How long calls wait for their answer, but long ones: these for a sign of life. */
  readonly rpcTimeoutMs: number;
  readonly #longRpcTimeoutMs: number;

  /** @throws ConfigurationError (`ERR_CONFIGURATION`) for a version cap, a topic or a method that is none */
  constructor(transport: Transport, options: ComputeApiOptions = {}) {
    this.#topics = topicTable(options);
    this.#caps = new VersionCaps(options, transport.logger);
    this.#services = options.services;
    this.rpcTimeoutMs = options.rpcTimeoutMs ?? 60_000;
    this.#longRpcTimeoutMs = options.longRpcTimeoutMs ?? 1_800_000;
    const target = { topic: RPC_TOPIC, version: '6.0' };
    const { interceptors = [] } = options;
    this.#client = new RpcClient(transport, target, {
      serializer: objectSerializer,
      remoteErrors,
      interceptors,
    });
  }

  /** What it sends with. */
  get transport(): Transport {
    return this.#client.transport;
  }

  /**
   * The topic of a method's messages to one host: ops where the table says so and the host is new enough (GS-39, GS-40).
   * Rejects with what reading the records did, under the cap `auto`.
   */
  async topicOf(method: keyof ComputeMethods, host: string): Promise<string> {
    return this.#topic(method, this.#under((await this.#caps.of(host)) ?? null));
  }

  /**
   * Reads the version cap again, where that can be done, and forgets what is known of the hosts: what SIGHUP does
   * (GS-92).
   * @throws ConfigurationError (`ERR_CONFIGURATION`) for a cap that is none: then the old one stays
   */
  refresh(): Promise<void> {
    return this.#caps.refresh();
  }

  /**
   * Calls a method of one host.
   * @throws (rejects with) what the host threw, and whatever `RpcClient.call` rejects with; DrainingError (`ERR_DRAINING`),
   * and nothing was sent, when the record of the host says that it takes no new requests and the method begins something.
   */
  async call<Name extends CallMethod<ComputeMethods>>(
    context: CallerContext,
    method: Name,
    host: string,
    args: ArgsOf<ComputeMethods[Name]>,
    options?: SendOptions,
  ): Promise<ResultOf<ComputeMethods[Name]>> {
    const row: ComputeMethods[Name] = COMPUTE_METHODS[method];
    const { client, sent } = await this.#prepare(method, row, host, args);
    const isNew = this.#topics.rows.get(method) !== 'ops'; // what finishes something waits, whichever its topic is
    if (this.#services && isNew) await refuseWhileDraining(this.#services, host);
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
    const { client, sent } = await this.#prepare(method, COMPUTE_METHODS[method], host, args);
    await client.cast(context, method, sent, options);
  }

  /**
   * Has a host drain, as SIGTERM to its process does; resolves when the drain has begun, also when it had before.
   * @param reason - for its log and its report
   * @throws (rejects with) whatever `RpcClient.call` rejects with; UnsupportedVersionError (`ERR_UNSUPPORTED_VERSION`) for a
   * host of Nova's
   */
  async drainHost(context: CallerContext, host: string, reason: string): Promise<void> {
    const capped = this.#under((await this.#caps.of(host)) ?? null);
    const timeoutMs = Math.min(DRAIN_ANSWER_MS, this.rpcTimeoutMs);
    const where = { topic: this.#opsTopic(capped), server: host, timeoutMs };
    const client = this.#client.prepare({ ...where, namespace: HOST_NAMESPACE, version: HOST_RPC_VERSION });
    await client.call(context, 'drain_host', { reason });
  }

  async #prepare(method: keyof ComputeMethods, row: MethodRow, host: string, args: object) {
    const checked = checkArgs(method, row, args as Record<string, unknown>); // by name; checked here
    const known = this.#caps.of(host);
    const versionCap = (known instanceof Promise ? await known : known) ?? null;
    const capped = this.#under(versionCap);
    const form = formFor(row, checked, capped, versionCap);
    const long = row.kind === 'long-call';
    const client = capped.prepare({
      topic: this.#topic(method, capped),
      server: host,
      version: form.version,
      timeoutMs: long ? this.#longRpcTimeoutMs : this.rpcTimeoutMs,
      callMonitorTimeoutMs: long ? this.rpcTimeoutMs : null,
    });
    return { client, sent: form.args };
  }

  #under(versionCap: string | null): RpcClient {
    const known = this.#capped.get(versionCap);
    if (known) return known;
    const capped = this.#client.prepare({ versionCap });
    this.#capped.set(versionCap, capped);
    return capped;
  }

  #topic(method: string, capped: RpcClient): string {
    return this.#topics.rows.get(method) === 'ops' ? this.#opsTopic(capped) : RPC_TOPIC;
  }

  #opsTopic(capped: RpcClient): string {
    return capped.canSendVersion(OPS_CAPABLE_VERSION) ? this.#topics.opsTopic : RPC_TOPIC;
  }
}

/** Nobody reads the queue of new requests of a host that drains: its caller would wait for nothing (GS-44). */
async function refuseWhileDraining(
  services: NonNullable<ComputeApiOptions['services']>,
  host: string,
): Promise<void> {
  const [service] = await services.find({ binary: 'compute', host });
  if (service?.state === 'draining') throw new DrainingError(`Host ${host} drains: it takes no new requests`);
}

/**
 * The newest form of the message that the receiver knows. What it does not know is left out, unless it was asked for:
 * a request is not sent as another one.
 * @throws RpcVersionCapError (`ERR_VERSION_CAP`)
 */
function formFor(
  row: MethodRow,
  args: Readonly<Record<string, unknown>>,
  capped: RpcClient,
  versionCap: string | null,
): Form {
  let { version } = row;
  const left = new Map(Object.entries(args));
  for (const form of row.older ?? []) {
    if (capped.canSendVersion(version)) break;
    for (const name of form.drop) {
      const asked = left.get(name) ?? false;
      if (form.refuse === true && asked !== false) throw new RpcVersionCapError(version, String(versionCap));
      left.delete(name);
    }
    version = form.version;
  }
  if (!capped.canSendVersion(version)) throw new RpcVersionCapError(version, String(versionCap));
  return { version, args: Object.fromEntries(left) };
}

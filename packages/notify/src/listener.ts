import {
  ConfigurationError,
  InvalidTargetError,
  MessageServer,
  type NotificationDestination,
  type ServerCounts,
  type ServerState,
  Target,
  type TargetOptions,
  type Transport,
  type WaitOptions,
  type WaitReport,
} from '@ebbgate/core';
import { batchHandler } from './batch-handler.js';
import { NotificationDispatcher } from './dispatcher.js';
import type { BatchEndpoint, EndpointRules, NotificationEndpoint } from './endpoint.js';
import { checkListenerOptions, type NotificationListenerOptions } from './listener-options.js';
import type { BatchOptions } from './batch-collector.js';
import type { Priority } from './priorities.js';
import { type Arrived, RequeuePolicy } from './requeue-policy.js';
import { singleHandler } from './single-handler.js';

/** Counts since the listener was made. */
export interface NotificationListenerCounts extends ServerCounts {
  /** Handed back by an endpoint. */
  readonly requeued: number;
  /** Handed back too often: dead letters, or dropped. */
  readonly exhausted: number;
}

type Topic = Omit<NotificationDestination, 'kind'>;

/**
 * Handles notifications of some topics, each acknowledged when its endpoints have ended (at least once). `start()`,
 * `stop()` and `wait()` as those of a server; what is not handled at `stop()` goes back.
 */
export class NotificationListener {
  readonly #server: MessageServer<Arrived>;
  readonly #policy: RequeuePolicy;

  /**
   * @param targets - each needs a topic; the exchange defaults to the transport's control exchange
   * @param endpoints - objects with methods named by priorities; only these priorities are listened to
   * @throws ConfigurationError (`ERR_CONFIGURATION`), InvalidTargetError (`ERR_INVALID_TARGET`); TypeError for an endpoint
   * that is no object
   */
  constructor(
    transport: Transport,
    targets: readonly (Target | TargetOptions)[],
    endpoints: readonly NotificationEndpoint[],
    options?: NotificationListenerOptions & { readonly batch?: undefined },
  );
  /** As above, with endpoints that take batches. */
  constructor(
    transport: Transport,
    targets: readonly (Target | TargetOptions)[],
    endpoints: readonly BatchEndpoint[],
    options: NotificationListenerOptions & { readonly batch: BatchOptions },
  );
  constructor(
    transport: Transport,
    targets: readonly (Target | TargetOptions)[],
    endpoints: readonly EndpointRules[],
    options: NotificationListenerOptions = {},
  ) {
    const { pool, ephemeral, batch, serializer, requeue, server } = checkListenerOptions(options);
    if (!transport.features.notifications)
      throw new ConfigurationError('The driver of this transport has no notifications');
    const dispatcher = new NotificationDispatcher(endpoints, transport.logger);
    const topics = topicsOf(targets, dispatcher.priorities, transport);
    this.#policy = new RequeuePolicy(transport, requeue, topics[0]?.exchange ?? transport.controlExchange);
    const parts = { dispatcher, policy: this.#policy, serializer };
    const handler = batch ? batchHandler(parts, batch) : singleHandler(parts);
    this.#server = new MessageServer(transport, { topics, pool, ephemeral }, handler, server);
  }

  /** Where it is between `start()` and the end of `wait()`. */
  get state(): ServerState {
    return this.#server.state;
  }

  /** Notifications that are being handled. */
  get running(): number {
    return this.#server.running;
  }

  /** What became of the notifications that it was given; a copy. */
  get counts(): NotificationListenerCounts {
    return { ...this.#server.counts, ...this.#policy.counts };
  }

  /** Resolves when notifications can arrive. @throws ServerListenError (`ERR_SERVER_LISTEN`) */
  start(): Promise<void> {
    return this.#server.start();
  }

  /** Resolves when the broker sends nothing more; what was not begun has gone back. */
  stop(): Promise<void> {
    return this.#server.stop();
  }

  /**
   * Resolves when every notification that was begun has been handled and is acknowledged.
   * @throws ServerWaitTimeoutError (`ERR_WAIT_TIMEOUT`) at the time limit; the signal's reason when it aborts
   */
  wait(options: WaitOptions = {}): Promise<WaitReport> {
    return this.#server.wait(options);
  }
}

/** The product of targets and priorities, each once. */
function topicsOf(
  targets: readonly (Target | TargetOptions)[],
  priorities: readonly Priority[],
  { controlExchange }: Transport,
): readonly Topic[] {
  if (priorities.length === 0)
    throw new ConfigurationError('No endpoint has a method that is named by a priority');
  const all = targets.flatMap((given) => {
    const target = given instanceof Target ? given : new Target(given);
    const { topic, exchange = controlExchange } = target;
    if (topic === undefined || topic === '')
      throw new InvalidTargetError("A listener's target must have a topic", target);
    return priorities.map((priority): Topic => ({ exchange, topic: `${topic}.${priority}` }));
  });
  if (all.length === 0) throw new ConfigurationError('A listener needs at least one target');
  return [...new Map(all.map((each) => [JSON.stringify([each.exchange, each.topic]), each])).values()];
}

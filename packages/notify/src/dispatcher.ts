import {
  type ContextValues,
  type Logger,
  type MaybePromise,
  redactedCause,
  RequestContext,
  runWithContext,
} from '@ebbgate/core';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { type EndpointRules, type ReceivedNotification, REQUEUE } from './endpoint.js';
import type { IncomingNotification } from './notification-message.js';
import { checkPayload } from './payload-check.js';
import { PRIORITIES, type Priority } from './priorities.js';

/** What the endpoints have said of a notification. */
export type Outcome = 'handled' | 'requeue' | { readonly malformed: string };

/** A notification whose turn it is. */
export interface Turn {
  readonly incoming: IncomingNotification;
  readonly context: ContextValues;
  readonly payload: unknown;
  readonly attempts: number;
}

/** A method of an endpoint, bound to it, and what it wants. */
interface Taker {
  readonly rules: EndpointRules;
  readonly method: (...args: readonly unknown[]) => unknown;
}

/** Finds the endpoints of a notification and calls them in order. */
export class NotificationDispatcher {
  /** Those for which an endpoint has a method. */
  readonly priorities: readonly Priority[];
  readonly #takers: ReadonlyMap<string, readonly Taker[]>;
  readonly #logger: Logger;

  /** @throws TypeError for an endpoint that is no object */
  constructor(endpoints: readonly EndpointRules[], logger: Logger) {
    const takers = PRIORITIES.map((priority) => [priority, takersOf(endpoints, priority)] as const);
    this.#takers = new Map(takers);
    this.priorities = PRIORITIES.filter((priority) => (this.#takers.get(priority) ?? []).length > 0);
    this.#logger = logger;
  }

  /** Calls each endpoint that wants it, until one hands it back. Never rejects. */
  async dispatch(turn: Turn): Promise<Outcome> {
    for (const { rules, method } of this.#of(turn.incoming)) {
      const seen = await this.#received(turn, rules);
      if (typeof seen === 'string') return { malformed: seen };
      if (seen === undefined) return 'requeue';
      const { context } = seen;
      const result = await this.#call(turn, () => runWithContext(context, method, context, seen));
      if (result === REQUEUE) return 'requeue';
    }
    return 'handled';
  }

  /** Calls each endpoint with those that it wants, all of one priority. Never rejects. */
  async dispatchBatch(turns: readonly Turn[]): Promise<ReadonlyMap<Turn, Outcome>> {
    const outcomes = new Map<Turn, Outcome>();
    const [first] = turns;
    for (const taker of (first && this.#takers.get(first.incoming.priority)) ?? []) {
      const open = turns.filter((turn) => !outcomes.has(turn) && wants(taker, turn.incoming));
      await this.#callWithAll(taker, open, outcomes);
    }
    for (const turn of turns) if (!outcomes.has(turn)) outcomes.set(turn, 'handled');
    return outcomes;
  }

  async #callWithAll(
    { rules, method }: Taker,
    open: readonly Turn[],
    outcomes: Map<Turn, Outcome>,
  ): Promise<void> {
    const given = new Map<unknown, Turn>();
    for (const turn of open) {
      const seeing = this.#received(turn, rules);
      const seen = seeing instanceof Promise ? await seeing : seeing; // most need no checking
      if (typeof seen === 'string') outcomes.set(turn, { malformed: seen });
      else if (seen === undefined) outcomes.set(turn, 'requeue');
      else given.set(seen, turn);
    }
    const [first] = given.values();
    if (!first) return;
    const result = await this.#call(first, () => method([...given.keys()]));
    const back: readonly unknown[] =
      result === REQUEUE ? [...given.keys()] : Array.isArray(result) ? result : [];
    for (const seen of back) {
      const turn = given.get(seen);
      if (turn) outcomes.set(turn, 'requeue');
    }
  }

  #of(incoming: IncomingNotification): readonly Taker[] {
    const takers = this.#takers.get(incoming.priority);
    if (takers) return takers.filter((taker) => wants(taker, incoming));
    const { priority, eventType, messageId } = incoming;
    this.#logger.warn({ priority: priority.slice(0, 20), eventType, messageId }, 'There is no such priority');
    return [];
  }

  /** What an endpoint is given; a text: why its payload does not fit; undefined: the schema itself has failed. */
  #received(
    turn: Turn,
    { payloads }: EndpointRules,
  ): MaybePromise<ReceivedNotification | string | undefined> {
    const { eventType } = turn.incoming;
    const schema = payloads && Object.hasOwn(payloads, eventType) ? payloads[eventType] : undefined;
    return schema ? this.#checked(turn, schema) : received(turn, turn.payload);
  }

  async #checked(turn: Turn, schema: StandardSchemaV1): Promise<ReceivedNotification | string | undefined> {
    try {
      const checked = await checkPayload(schema, turn.payload, turn.incoming.eventType);
      return checked.isValid ? received(turn, checked.payload) : checked.detail;
    } catch (error) {
      this.#failed(turn, error);
      return undefined;
    }
  }

  /** What is thrown asks for another turn, and is told. */
  async #call(turn: Turn, work: () => unknown): Promise<unknown> {
    try {
      return await work();
    } catch (error) {
      this.#failed(turn, error);
      return REQUEUE;
    }
  }

  #failed({ incoming, attempts }: Turn, error: unknown): void {
    const { eventType, priority, messageId } = incoming;
    const fields = { err: redactedCause(error), eventType, priority, messageId, attempts };
    this.#logger.error(fields, 'An endpoint has failed with a notification');
  }
}

function received({ incoming, context, attempts }: Turn, payload: unknown): ReceivedNotification {
  const { publisherId, eventType, priority, messageId, timestamp } = incoming;
  const own = new RequestContext(context);
  return { context: own, publisherId, eventType, priority, payload, messageId, timestamp, attempts };
}

function takersOf(endpoints: readonly EndpointRules[], priority: Priority): readonly Taker[] {
  return endpoints.flatMap((endpoint) => {
    if (typeof (endpoint as unknown) !== 'object') throw new TypeError('An endpoint is an object');
    const method = (endpoint as Readonly<Record<string, unknown>>)[priority]; // one of its methods, or none
    if (typeof method !== 'function') return [];
    return [{ rules: endpoint, method: method.bind(endpoint) as Taker['method'] }];
  });
}

function wants({ rules }: Taker, incoming: IncomingNotification): boolean {
  return rules.filter?.matches(incoming) ?? true;
}

import { type Destination, InvalidTargetError } from '@ebbgate/core';
import type { SendSettings } from './prepare.js';

/** Where and how the messages of one client go: worked out once. */
export interface Route {
  readonly destination: Destination;
  readonly namespace: string | null;
  readonly version: string | undefined;
  readonly mandatory: boolean;
}

/** @throws InvalidTargetError without a topic */
export function routeOf(settings: SendSettings, controlExchange: string): Route {
  const { target } = settings;
  const { topic, server, exchange = controlExchange } = target;
  if (topic === undefined || topic === '')
    throw new InvalidTargetError('A topic is required to send', target);
  const fanout = target.fanout === true;
  const destination: Destination = fanout
    ? { kind: 'fanout', exchange, topic }
    : server === undefined
      ? { kind: 'topic', exchange, topic }
      : { kind: 'server', exchange, topic, server };
  return {
    destination: Object.freeze(destination),
    namespace: target.namespace ?? null,
    version: target.version,
    mandatory: !fanout && (settings.transportOptions?.atLeastOnce ?? true),
  };
}

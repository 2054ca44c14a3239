import type { LateHandler } from '@ebbgate/core';
import { arrive, type HandlerParts, turnOf } from './handler-parts.js';
import type { Arrived } from './requeue-policy.js';

/** Handles notifications one by one. */
export function singleHandler(parts: HandlerParts): LateHandler<Arrived> {
  const { dispatcher, policy } = parts;
  return {
    read: arrive,
    idOf: ({ incoming }) => incoming.uniqueId,
    handle: async (arrived) => {
      const turn = turnOf(arrived, parts);
      const outcome = 'malformed' in turn ? turn : await dispatcher.dispatch(turn);
      return policy.verdict(arrived, outcome);
    },
  };
}

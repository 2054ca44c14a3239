import type { LateHandler, Verdict } from '@ebbgate/core';
import { BatchCollector, type BatchOptions } from './batch-collector.js';
import type { Outcome, Turn } from './dispatcher.js';
import { arrive, type HandlerParts, turnOf } from './handler-parts.js';
import type { Arrived } from './requeue-policy.js';

/** Handles notifications in batches, those of each priority together; what was handed back before is handled by itself. */
export function batchHandler(parts: HandlerParts, options: Required<BatchOptions>): LateHandler<Arrived> {
  const { policy } = parts;
  const collector = new BatchCollector<Arrived>(options, (batch) => handleBatch(parts, batch));
  return {
    read: arrive,
    idOf: ({ incoming }) => incoming.uniqueId,
    handle: (arrived) => (policy.attemptsAt(arrived) > 0 ? collector.alone(arrived) : collector.add(arrived)),
    onStopping: () => {
      collector.releaseAll();
    },
  };
}

async function handleBatch(
  parts: HandlerParts,
  batch: readonly Arrived[],
): Promise<ReadonlyMap<Arrived, Verdict>> {
  const outcomes = new Map<Arrived, Outcome>();
  for (const group of byPriority(batch)) await handleGroup(parts, group, outcomes);
  const verdicts = new Map<Arrived, Verdict>();
  const later: Promise<unknown>[] = [];
  for (const [arrived, outcome] of outcomes) {
    const verdict = parts.policy.verdict(arrived, outcome);
    if (verdict instanceof Promise) later.push(verdict.then((settled) => verdicts.set(arrived, settled)));
    else verdicts.set(arrived, verdict);
  }
  await Promise.all(later);
  return verdicts;
}

async function handleGroup(
  parts: HandlerParts,
  group: readonly Arrived[],
  outcomes: Map<Arrived, Outcome>,
): Promise<void> {
  const turns = new Map<Turn, Arrived>();
  for (const arrived of group) {
    const turn = turnOf(arrived, parts);
    if ('malformed' in turn) outcomes.set(arrived, turn);
    else turns.set(turn, arrived);
  }
  for (const [turn, outcome] of await parts.dispatcher.dispatchBatch([...turns.keys()])) {
    const arrived = turns.get(turn);
    if (arrived) outcomes.set(arrived, outcome);
  }
}

function byPriority(batch: readonly Arrived[]): Iterable<readonly Arrived[]> {
  const groups = new Map<string, Arrived[]>();
  for (const arrived of batch) {
    const { priority } = arrived.incoming;
    const group = groups.get(priority) ?? [];
    groups.set(priority, group);
    group.push(arrived);
  }
  return groups.values();
}

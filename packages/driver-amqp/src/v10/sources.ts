import { secretId, type ServerSource } from '@ebbgate/core';
import type { ReplyTopology, SourceQueue, SourceTopology } from '../topology.js';
import { type AddressForm, plainAddress } from './address-form.js';
import type { SourceNode } from './credit-link.js';

/** What is received from, where the queues are declared: each once, as a pool is one queue for all its topics. */
export function declaredNodes(
  form: AddressForm,
  { queues, privateQueue }: SourceTopology,
): readonly SourceNode[] {
  const isShared = ({ kind, queue }: SourceQueue): boolean =>
    kind === 'topic' || (kind === 'notification' && queue.name !== privateQueue);
  const nodes = queues.map(
    (each) => [each.queue.name, node(form.queue(each.queue.name), isShared(each))] as const,
  );
  return [...new Map(nodes).values()];
}

/** What a server receives from at any other broker: the fanout node must hand out copies. */
export function plainNodes(source: ServerSource): readonly SourceNode[] {
  const fanout = { address: plainAddress({ kind: 'fanout', ...source }), capabilities: ['topic'] };
  return [
    node(plainAddress({ kind: 'topic', ...source }), true),
    node(plainAddress({ kind: 'server', ...source }), false),
    { source: { ...fanout, distribution_mode: 'copy' }, isShared: false },
  ];
}

/** Where replies come to, at any other broker. */
export function plainReplyNode(kind: 'named' | 'dynamic', address: string): SourceNode {
  if (kind === 'named') return node(address, false);
  return { source: { dynamic: true }, isShared: false };
}

export function declaredReplyNode(form: AddressForm, { queue }: ReplyTopology): SourceNode {
  return node(form.queue(queue.name), false);
}

/** A name that nobody else has, and nobody guesses. */
export function replyAddress(): string {
  return `reply_${secretId()}`;
}

function node(address: string, isShared: boolean): SourceNode {
  return { source: { address }, isShared };
}

import type { WireMessage } from '@ebbgate/core';
import { readVectors } from './vectors.js';

/** A message that a real oslo.messaging sent, or that was made by hand for one to read. */
export interface RecordedMessage {
  readonly exchange: string;
  readonly routing_keys: readonly string[];
  readonly body: string;
}

/** What a Python caller or method saw. */
export interface RecordedOutcome {
  readonly returned?: unknown;
  readonly raised?: { readonly type: string; readonly module: string; readonly str: string };
}

/** One recorded case, with its tracebacks cut to their last line. */
export interface RecordedCase {
  readonly outcome: Readonly<Record<string, readonly unknown[]>>;
  readonly published: readonly RecordedMessage[];
}

export function readCase(name: string): RecordedCase {
  return readVectors(name) as RecordedCase;
}

/** The inner object of an enveloped body. */
export function innerOf(body: string): Record<string, unknown> {
  const outer = JSON.parse(body) as { 'oslo.message': string };
  return JSON.parse(outer['oslo.message']) as Record<string, unknown>;
}

export function textOf(message: WireMessage): string {
  return Buffer.from(message.body.encode()).toString('utf8');
}

/** The body of an inner object. */
export function enveloped(inner: unknown): string {
  return JSON.stringify({ 'oslo.version': '2.0', 'oslo.message': JSON.stringify(inner) });
}

const FRESH: ReadonlySet<string> = new Set(['_msg_id', '_unique_id', '_reply_q']);

/** Members with their order; of what is fresh for each send only that it is there. */
export function comparable(inner: Record<string, unknown>): unknown[] {
  return Object.entries(inner).map(([name, value]) => [name, FRESH.has(name) ? typeof value : value]);
}

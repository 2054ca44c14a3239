import type { PlainObject } from '@ebbgate/core';
import { RemoteError } from '@ebbgate/rpc';
import type { AmqpEvent } from '../../support/rigs/amqp-peer.js';
import { innerOf, type WireEvent } from './capture.js';
import { asRecorded, type Sent } from './client.js';
import { recordedForm, recordedProperties } from './our-side.js';

const DEADLINE = 'ebbgate-deadline';
const FRESH: ReadonlySet<string> = new Set(['_msg_id', '_unique_id', '_reply_q']);

const FRESH_PART = /[0-9a-f]{32}$|[^_]+:[^_]+:\d+$/;

/** Members in any order; of what is fresh for each send only its form. */
export function comparable(inner: PlainObject): PlainObject {
  const entries = Object.entries(inner).map(([name, value]) => {
    const isFresh = FRESH.has(name) && typeof value === 'string';
    return [name, isFresh ? value.replace(FRESH_PART, '<fresh>') : value] as const;
  });
  return Object.fromEntries(entries);
}

/** All of a publish that can be compared. */
export interface Published {
  readonly args: object;
  readonly properties: object;
  readonly inner: PlainObject;
}

/** What ours is to publish where Python published this; with our deviations. */
export function expectedPublish({ args, properties, body }: WireEvent): Published {
  const { exchange, routing_key, immediate } = args;
  const fanout = String(exchange).endsWith('_fanout');
  return {
    args: { exchange, routing_key, immediate, mandatory: !fanout }, // W1
    properties,
    inner: comparable(innerOf({ properties, body })),
  };
}

/** What ours published; the deadline header of calls (W5) taken out, and checked on the way. */
export function actualPublish(event: AmqpEvent): Published & { readonly deadline: unknown } {
  const { headers, ...properties } = recordedProperties(event) as { headers: Record<string, unknown> };
  const { [DEADLINE]: deadline, ...others } = headers;
  return {
    args: recordedForm(event).args,
    properties: { ...properties, headers: others },
    inner: comparable(innerOf(asRecorded(event))),
    deadline,
  };
}

/** Where ours differs for a reply made by hand: told to be a failure of this type, or this value. */
const ODD_REPLIES: ReadonlyMap<string, object> = new Map<string, object>([
  ['KeyError', { returned: 'ok' }], // W26: no member `failure` is no failure
  ['AttributeError', { code: 'ERR_TIMEOUT' }], // W26: a sign of life that nobody asked for means nothing
  ['JSONDecodeError', { code: 'ERR_REMOTE', type: 'ValueError' }], // W26: an object is as clear as its text
]);

const DISPATCHER: ReadonlyMap<string, string> = new Map([
  ['NoSuchMethod', 'ERR_NO_SUCH_METHOD'],
  ['UnsupportedVersion', 'ERR_UNSUPPORTED_VERSION'],
]);

/** What our caller is to see where Python's saw this. */
export function expectedOutcome(sent: Sent): object {
  const { seen, event } = sent;
  if (!seen)
    return sent.inner['_msg_id'] === undefined ? { returned: undefined } : { returned: answerOf(sent) };
  if (!seen.raised) return { returned: seen.returned === null && isCast(sent) ? undefined : answerOf(sent) };
  const { type, module, str } = seen.raised;
  if (event.routed === false) return { code: 'ERR_UNDELIVERABLE' }; // W1
  if (type === 'MessagingTimeout') return { code: 'ERR_TIMEOUT' };
  if (type === 'RemoteError') return remote(str);
  if (type.endsWith('_Remote')) return { name: type.replace('_Remote', ''), message: str.split('\n', 1)[0] };
  const isRaisedHere = (type !== 'KeyError' || str === "'failure'") && ODD_REPLIES.has(type);
  if (module === 'builtins' && !isRaisedHere) return { code: 'ERR_REMOTE', type }; // W10: not rebuilt
  return ODD_REPLIES.get(type) ?? { type };
}

function isCast({ inner }: Sent): boolean {
  return inner['_msg_id'] === undefined;
}

/** The result in the recorded reply: what Python returned is shown by the recordings with NaN as text. */
function answerOf({ replies, seen }: Sent): unknown {
  const results = replies.map((reply) => innerOf(reply)['result'] ?? null);
  return results.find((result) => result !== null) ?? seen?.returned ?? null;
}

/** W17: what Python's dispatcher refuses is an error of our own; `None` is the name of what has none. */
function remote(text: string): object {
  const type = /^Remote error: (\S+)/.exec(text)?.[1] ?? '';
  const code = DISPATCHER.get(type);
  if (code !== undefined) return { code };
  return { code: 'ERR_REMOTE', type: type === 'None' ? 'unknown' : type };
}

/** What our caller saw, in the same words. */
export function actualOutcome(settled: PromiseSettledResult<unknown>): object {
  if (settled.status === 'fulfilled') return { returned: settled.value };
  const error = settled.reason as Error & { code?: string }; // ours rejects with errors only
  if (error instanceof RemoteError) return { code: error.code, type: error.remoteType };
  return error.code === undefined
    ? { name: error.constructor.name, message: error.message }
    : { code: error.code };
}

/** Does what was sent hold what we refuse to send (W14)? */
export function holdsNaN(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsNaN);
}

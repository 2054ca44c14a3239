import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { decodeObjects } from '../objects/codec.js';

/** A request that a real Nova client has sent, as it was on the wire. */
export interface RecordedRequest {
  readonly method: string;
  readonly version: string;
  /** The arguments, objects not yet decoded. */
  readonly wireArgs: Readonly<Record<string, unknown>>;
  /** The members `_context_…`, without the prefix. */
  readonly context: Readonly<Record<string, unknown>>;
}

const captureSchema = z.object({
  request: z.object({
    envelope: z.object({ 'oslo.version': z.literal('2.0'), 'oslo.message': z.string() }),
  }),
});

const messageSchema = z.looseObject({
  method: z.string(),
  version: z.string(),
  args: z.record(z.string(), z.unknown()),
});

const FOLDER = new URL('../../fixtures/nova/', import.meta.url);
const CONTEXT_PREFIX = '_context_';

/** Reads one of the recorded requests that come with the package, from the bytes that were sent. */
export async function readRecordedRequest(name: string): Promise<RecordedRequest> {
  const capture = captureSchema.parse(JSON.parse(await readFile(new URL(`${name}.json`, FOLDER), 'utf8')));
  const { method, version, args, ...rest } = messageSchema.parse(
    JSON.parse(capture.request.envelope['oslo.message']),
  );
  const context = Object.entries(rest)
    .filter(([member]) => member.startsWith(CONTEXT_PREFIX))
    .map(([member, value]) => [member.slice(CONTEXT_PREFIX.length), value]);
  return { method, version, wireArgs: args, context: Object.fromEntries(context) as Record<string, unknown> };
}

/**
 * The decoded arguments of a request; with `replaced` texts changed first, everywhere, ids above all, so that one
 * recording serves for several instances.
 */
export function decodeArgs(
  { wireArgs }: RecordedRequest,
  replaced: ReadonlyMap<string, string> = new Map(),
): Readonly<Record<string, unknown>> {
  const wire = replaced.size === 0 ? wireArgs : replaceTexts(wireArgs, replaced);
  return decodeObjects(wire) as Record<string, unknown>; // a dictionary stays one
}

function replaceTexts(value: unknown, replaced: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return replaced.get(value) ?? value;
  if (Array.isArray(value)) return value.map((member) => replaceTexts(member, replaced));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, replaceTexts(member, replaced)]),
  );
}

import { readdirSync, readFileSync } from 'node:fs';

/** One recorded request of a Nova client, with what was answered. */
export interface Capture {
  readonly name: string;
  readonly kind: 'call' | 'cast';
  readonly method: string;
  readonly version: string;
  readonly args: Record<string, unknown>;
  readonly results: readonly unknown[];
  /** Host that it was sent to. */
  readonly server: string;
  /** The inner object of the request, as it was sent. */
  readonly request: Readonly<Record<string, unknown>>;
  /** The inner objects of its replies, in order. */
  readonly replies: readonly Readonly<Record<string, unknown>>[];
}

interface Recorded {
  readonly kind: 'call' | 'cast';
  readonly server: string;
  readonly request: { readonly envelope: { readonly 'oslo.message': string } };
  readonly replies: readonly { readonly envelope: { readonly 'oslo.message': string } }[];
}

const FOLDER = new URL('../../../../packages/compute/fixtures/nova/', import.meta.url);

/** All recorded requests, from the bytes that were on the wire. */
export function readCaptures(): readonly Capture[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.json'))
    .map((file) => {
      const recorded = JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as Recorded; // our own fixture
      const message = JSON.parse(recorded.request.envelope['oslo.message']) as Capture; // as a client sent it
      const replies = recorded.replies.map(
        ({ envelope }) => JSON.parse(envelope['oslo.message']) as Record<string, unknown>, // as a server did
      );
      const { method, version, args } = message;
      return {
        name: file.replace('.json', ''),
        kind: recorded.kind,
        method,
        version,
        args,
        results: replies.map(({ result }) => result),
        server: recorded.server,
        request: { ...message },
        replies,
      };
    });
}

import { deflateSync, unzipSync } from 'node:zlib';
import { SerializationError } from '@ebbgate/core';

/** How bodies can be compressed. */
export type Compression = 'gzip';

/** What kombu calls it: both names are one method. */
export const COMPRESSION_NAMES: readonly string[] = ['gzip', 'zlib'];

/** The value of the header `compression` for each way: kombu's `gzip` is a zlib stream (RFC 1950), whatever it says. */
export const COMPRESSION_HEADERS: Readonly<Record<Compression, string>> = { gzip: 'application/x-gzip' };

const READABLE: ReadonlySet<string> = new Set(['application/x-gzip', ...COMPRESSION_NAMES]);
/** Named in errors; a header is somebody else's text. */
const KNOWN_OTHERS: ReadonlySet<string> = new Set([
  'application/x-bz2',
  'application/x-brotli',
  'application/x-lzma',
  'application/zstd',
]);

/** A message that unfolds to more than this is refused. */
const MOST_BYTES = 256 * 1024 ** 2;
/** zlib reaches 1:1032 on nothing but zeros: no message does by itself. */
const MOST_TIMES = 1000;
/** Up to this size nobody is harmed, whatever the ratio. */
const ALWAYS_BYTES = 1024 ** 2;

/** The compressed bytes. The work is done at once, on this thread: about 10 ms for a megabyte. */
export function compress(_method: Compression, bytes: Uint8Array): Buffer {
  return deflateSync(bytes); // the only method that there is
}

/**
 * The bytes of a body as they were before kombu, or {@link compress}, made them small.
 *
 * @param header The header `compression`; absent, null or empty: the body is not compressed.
 * @throws SerializationError (`ERR_SERIALIZATION`) for another method, for bytes that are no such stream, and for a
 *   body that unfolds to more than 256 MiB or to more than 1000 times its size: the message can never be read.
 */
export function decompress(header: unknown, bytes: Uint8Array): Uint8Array {
  if (header === undefined || header === null || header === '') return bytes;
  if (typeof header !== 'string' || !READABLE.has(header)) throw new SerializationError(refusal(header));
  const limit = Math.min(MOST_BYTES, Math.max(ALWAYS_BYTES, bytes.byteLength * MOST_TIMES));
  try {
    return unzipSync(bytes, { maxOutputLength: limit }); // a zlib stream, or a gzip one, which the name would suggest
  } catch (error) {
    const tooLong = error instanceof RangeError;
    throw new SerializationError(
      tooLong
        ? `Cannot read the message: its ${bytes.byteLength} bytes unfold to more than ${limit}`
        : 'Cannot read the message: its header says that it is compressed, but it is no zlib stream',
      // The text of zlib's error holds nothing of the body.
      { cause: error },
    );
  }
}

function refusal(header: unknown): string {
  const method = typeof header === 'string' && KNOWN_OTHERS.has(header) ? header : 'an unknown method';
  return `Cannot read the message: it is compressed by ${method}; only application/x-gzip can be read`;
}

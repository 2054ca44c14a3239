import { brotliCompressSync, deflateSync, gzipSync, inflateSync } from 'node:zlib';
import { SerializationError } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { COMPRESSION_HEADERS, compress, decompress } from '#driver-amqp/compression.js';

/** A cast that Python compressed with `kombu_compression=gzip` (`opt_compression_gzip.json`). */
const FROM_PYTHON =
  'eJwti8EKgzAQRH9F9iySSlybfktAEt3aQM3SbO1F8u8m2NO8ecwcwPLm7kdJAkd4NNB3Ctrm0huJuJWqPixs9H3xYkuzkGjmVLgt7NIq1ZZJrHnL1U57DJ+dpvB/KE8j6gFH1zu9GG+UUUh4Rz37QT/RQoZ8AoPxKxA=';

const HEADER = 'application/x-gzip';
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

function refused(header: unknown, bytes: Uint8Array): SerializationError {
  try {
    decompress(header, bytes);
  } catch (error) {
    if (error instanceof SerializationError) return error;
    throw error;
  }
  throw new Error('It was not refused');
}

describe('compression of bodies', () => {
  it("reads what Python made, whatever of kombu's names for it is in the header (AMQP-30)", () => {
    const bytes = Buffer.from(FROM_PYTHON, 'base64');
    for (const header of [HEADER, 'gzip', 'zlib']) {
      const outer = JSON.parse(text(decompress(header, bytes))) as Record<string, string>;
      expect(Object.keys(outer)).to.deep.equal(['oslo.version', 'oslo.message']);
      expect(JSON.parse(outer['oslo.message'] ?? '')).to.include({ method: 'record' });
    }
  });

  it("makes a zlib stream, as kombu's gzip is, under its header", () => {
    const body = Buffer.from('{"größe": 1}');
    const made = compress('gzip', body);
    expect(text(inflateSync(made))).to.equal(text(body));
    expect(text(decompress(COMPRESSION_HEADERS.gzip, made))).to.equal(text(body));
    expect(COMPRESSION_HEADERS.gzip).to.equal(HEADER);
  });

  it('tolerates a real gzip stream too (AMQP-30)', () => {
    expect(text(decompress(HEADER, gzipSync('body')))).to.equal('body');
  });

  it('leaves a body without the header as it is', () => {
    const body = Buffer.from('body');
    for (const header of [undefined, null, '']) expect(decompress(header, body)).to.equal(body);
  });

  it('refuses other methods by name, and unknown headers without repeating them (AMQP-30, SEC-04)', () => {
    expect(refused('application/x-bz2', Buffer.from('BZh9')).message).to.include('application/x-bz2');
    expect(refused('application/x-brotli', brotliCompressSync('x')).message).to.include(
      'application/x-brotli',
    );
    for (const header of ['s3cret', 7, {}, true, ['gzip']]) {
      expect(refused(header, Buffer.from('x')).message)
        .to.include('unknown method')
        .and.not.include('s3cret');
    }
  });

  it('refuses what is no such stream, or ends in the middle (AMQP-30)', () => {
    const whole = deflateSync('a body that is long enough');
    for (const bytes of [Buffer.from('{"plain":1}'), whole.subarray(0, -5), Buffer.alloc(0)]) {
      expect(refused(HEADER, bytes).code).to.equal('ERR_SERIALIZATION');
    }
  });

  it('refuses a body that unfolds out of all proportion, without unfolding it (AMQP-30)', () => {
    const bomb = deflateSync(Buffer.alloc(64 * 1024 ** 2));
    const before = process.memoryUsage().rss;
    expect(refused(HEADER, bomb).message).to.include('unfold to more than');
    expect(process.memoryUsage().rss - before).to.be.below(200 * 1024 ** 2);
  });

  it('reads a small body that repeats itself a lot', () => {
    const blanks = ' '.repeat(1_000_000);
    expect(decompress(HEADER, deflateSync(blanks)).byteLength).to.equal(blanks.length);
  });
});

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { notFound } from '../http-error.js';

/** Of the package. */
const FOLDER = new URL('../../../page/', import.meta.url);

const TYPES: ReadonlyMap<string, string> = new Map([
  ['.html', 'text/html; charset=utf-8'],
  ['.css', 'text/css; charset=utf-8'],
  ['.js', 'text/javascript; charset=utf-8'],
  ['.svg', 'image/svg+xml'],
]);

/** Only what is here is loaded, nothing is made of text, and no other page can have it in a frame. */
const HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-cache', // asked for again each time, and answered with 304
};

interface PageFile {
  readonly body: Buffer;
  readonly type: string;
  readonly etag: string;
}

/** What the page for operators is made of, read once. */
export class PageFiles {
  readonly #files = new Map(readdirSync(FOLDER).map((name) => [name, read(name)]));

  /** Answers with the file of this name, or says that the client has it. @throws HttpError 404 */
  send(name: string, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const file = this.#files.get(name);
    if (!file) throw notFound('The resource could not be found.');
    const { body, type, etag } = file;
    void reply.headers({ ...HEADERS, ETag: etag });
    if (knows(request.headers['if-none-match'], etag)) return reply.code(304).send();
    return reply.type(type).send(body);
  }
}

function read(name: string): PageFile {
  const body = readFileSync(new URL(name, FOLDER));
  const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
  return { body, type: TYPES.get(extname(name)) ?? 'application/octet-stream', etag };
}

function knows(header: string | undefined, etag: string): boolean {
  return header?.split(',').some((one) => [etag, '*'].includes(one.trim().replace(/^W\//, ''))) ?? false;
}

import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { ConfigurationError, type Logger } from '@ebbgate/core';
import { z } from 'zod';
import type { Caller, TokenValidator } from './auth.js';

const entrySchema = z.strictObject({
  token: z.string().min(8).max(4096).optional(),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/i, { error: 'must be 64 hexadecimal digits' })
    .optional(),
  user: z.string().min(1).max(255),
  project: z.string().min(1).max(255).nullable().default(null),
  roles: z.array(z.string().min(1).max(255)).default([]),
});
const fileSchema = z.strictObject({ tokens: z.array(entrySchema).min(1) });

interface Entry {
  readonly digest: Buffer;
  readonly caller: Caller;
}

/**
 * Static tokens from a JSON file: `{"tokens": [{"sha256": "…", "user": "ann", "project": "p", "roles": ["admin"]}]}`, where
 * `sha256` is the digest of the token; `token` has it in the clear instead. Only digests are kept, and all of them are
 * compared with one that comes, in constant time.
 */
export class TokenFile implements TokenValidator {
  readonly isOpen = false;
  readonly #path: string;
  readonly #logger: Logger;
  #entries: readonly Entry[];

  /** @throws ConfigurationError (`ERR_CONFIGURATION`), which shows nothing of the content */
  constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
    this.#entries = this.#read();
  }

  /** Reads the file again. @throws ConfigurationError (`ERR_CONFIGURATION`): then the old tokens stay */
  reload(): void {
    this.#entries = this.#read();
  }

  validate(token: string | undefined): Caller | undefined {
    if (token === undefined || token === '') return undefined;
    const given = digestOf(token);
    let found: Caller | undefined;
    for (const { digest, caller } of this.#entries) {
      if (timingSafeEqual(given, digest)) found = caller;
    }
    return found;
  }

  #read(): readonly Entry[] {
    const { tokens } = this.#checked(this.#content());
    return tokens.map(({ token, sha256, user, project, roles }, index) => {
      if ((token === undefined) === (sha256 === undefined)) {
        throw this.#refused(`tokens.${index}: it must have one of sha256 and token`);
      }
      const digest = token === undefined ? Buffer.from(sha256 ?? '', 'hex') : digestOf(token);
      return { digest, caller: Object.freeze({ userId: user, projectId: project, roles }) };
    });
  }

  #content(): unknown {
    let text: string;
    try {
      text = readFileSync(this.#path, 'utf8');
      if ((statSync(this.#path).mode & 0o077) !== 0) {
        this.#logger.warn({ file: this.#path }, 'Others than its owner have access to the token file');
      }
    } catch (error) {
      throw this.#refused('it cannot be read', error);
    }
    try {
      return JSON.parse(text) as unknown;
    } catch {
      throw this.#refused('it is no JSON'); // the error of the parser shows a part of the text
    }
  }

  #checked(content: unknown): z.infer<typeof fileSchema> {
    const result = fileSchema.safeParse(content);
    if (result.success) return result.data;
    const texts = result.error.issues.map(({ path, message }) => `${path.map(String).join('.')}: ${message}`);
    throw this.#refused(texts.join('; '));
  }

  #refused(why: string, cause?: unknown): ConfigurationError {
    return new ConfigurationError(`The token file ${this.#path} cannot be used: ${why}`, { cause });
  }
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

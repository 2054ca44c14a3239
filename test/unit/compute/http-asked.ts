import { expect } from 'chai';
import type { z } from 'zod';
import type { Answered, HttpBed, Sent } from './http-bed.js';

/** What an answer has, by names; a test knows what it has asked for. */
export type Shown = Readonly<Record<string, unknown>>;

/** The answer to a GET that has to succeed, and to be as it is described. */
export async function shown<T = Shown>(
  bed: HttpBed,
  path: string,
  schema: z.ZodType,
  version?: string,
): Promise<T> {
  const { status, body } = await bed.send('GET', `/v2.1${path}`, version === undefined ? {} : { version });
  expect(status, JSON.stringify(body)).to.equal(200);
  expect(schema.safeParse(body).error, JSON.stringify(body)).to.equal(undefined);
  return body as unknown as T;
}

/** Status and message of an answer that is an error. */
export async function refused(
  bed: HttpBed,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  sent: Sent = {},
): Promise<string> {
  return refusalIn(await bed.send(method, `/v2.1${path}`, sent));
}

/** `404 itemNotFound: …`. */
export function refusalIn({ status, body }: Answered): string {
  const [entry] = Object.entries(body) as [string, { readonly code: number; readonly message: string }][];
  expect(entry?.[1].code, JSON.stringify(body)).to.equal(status);
  return `${status} ${entry?.[0] ?? ''}: ${entry?.[1].message ?? ''}`;
}

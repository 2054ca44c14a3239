import { z } from 'zod';
import { badRequest } from './http-error.js';
import type { Link, Links } from './links.js';
import { plainText } from './read-input.js';

/** As upstream's `max_limit`: no page is longer. */
const MAX_LIMIT = 1000;

const wholeNumber = z
  .string()
  .regex(/^\d{1,9}$/, { error: 'It must be a whole number, at least 0' })
  .transform(Number);

/** A parameter that may be there several times: the last one counts. */
export function lastOf<T>(
  schema: z.ZodType<T, string>,
): z.ZodType<T | undefined, string | string[] | undefined> {
  return z
    .union([schema, z.array(schema).min(1)])
    .transform((value) => (Array.isArray(value) ? (value.at(-1) as T) : value))
    .optional();
}

/** A text that may be there several times. */
export const lastText: z.ZodType<string | undefined, string | string[] | undefined> = lastOf(plainText);

/** Which part of a list is asked for. */
export interface PageQuery {
  /** How many at most; 0 or undefined: {@link MAX_LIMIT}. */
  readonly limit?: number | undefined;
  /** Id of the last one that is known already. */
  readonly marker?: string | undefined;
}

/** Parameters of a page: each may be there once. */
export const pageParameters: {
  readonly limit: z.ZodOptional<z.ZodType<number, string>>;
  readonly marker: z.ZodOptional<z.ZodString>;
} = { limit: wholeNumber.optional(), marker: plainText.optional() };
/** Parameters of a page: of several the last one counts. */
export const lenientPageParameters: {
  readonly limit: z.ZodType<number | undefined, string | string[] | undefined>;
  readonly marker: z.ZodType<string | undefined, string | string[] | undefined>;
} = { limit: lastOf(wholeNumber), marker: lastText };

/** A part of a list. */
export interface Page<T> {
  readonly items: readonly T[];
  /** To the next part, as far as there may be one. */
  readonly links: readonly Link[];
}

/** What is needed to lead to the next page. */
export interface PageOf<T> {
  readonly links: Links;
  /** Of the list: `/flavors/detail`. */
  readonly path: string;
  readonly idOf: (item: T) => string;
}

/** The part of a list that is asked for. @throws HttpError 400 when nothing there has the marker as its id */
export function pageOf<T>(
  all: readonly T[],
  { limit, marker }: PageQuery,
  { links, path, idOf }: PageOf<T>,
): Page<T> {
  const most = Math.min(limit === 0 || limit === undefined ? MAX_LIMIT : limit, MAX_LIMIT);
  const before = marker === undefined ? -1 : all.findIndex((item) => idOf(item) === marker);
  if (marker !== undefined && before < 0) throw badRequest('marker not found');
  const items = all.slice(before + 1, before + 1 + most);
  const last = items.at(-1);
  const isFull = last !== undefined && items.length === most;
  return { items, links: isFull ? [links.next(path, idOf(last))] : [] };
}

import { z } from 'zod';
import type { Versioned } from './api-routes.js';
import { lastText } from './paging.js';
import { plainText } from './read-input.js';
import { NOTE_EBBGATE } from './service-view.js';

/** Body of the actions by name, before 2.53. */
export interface ActionBody {
  readonly host: string;
  readonly binary: string;
  readonly disabled_reason?: string | undefined;
  readonly forced_down?: boolean | undefined;
  /** Ours. */
  readonly forced_down_reason?: string | undefined;
}

/** Body of the update by uuid, from 2.53. */
export interface UpdateBody {
  readonly status?: 'enabled' | 'disabled' | undefined;
  readonly disabled_reason?: string | undefined;
  readonly forced_down?: boolean | undefined;
  /** Ours. */
  readonly forced_down_reason?: string | undefined;
}

/** What the list is narrowed to. */
export interface ListQuery {
  readonly host?: string | undefined;
  readonly binary?: string | undefined;
}

const TRUE = ['True', 'TRUE', 'true', '1', 'ON', 'On', 'on', 'YES', 'Yes', 'yes'] as const;
const FALSE = ['False', 'FALSE', 'false', '0', 'OFF', 'Off', 'off', 'NO', 'No', 'no'] as const;
const TRUE_WORDS: ReadonlySet<unknown> = new Set(TRUE);

/** Upstream's boolean: JSON's, or one of its words. */
export const booleanWord: z.ZodType<boolean, boolean | string> = z
  .union([z.boolean(), z.enum([...TRUE, ...FALSE])], { error: 'It must be true or false' })
  .transform((value) => value === true || TRUE_WORDS.has(value));

const text = plainText.min(1);
/** As Nova's host names. */
export const hostName: z.ZodType<string, string> = text.regex(/^[a-zA-Z0-9._-]+$/, {
  error: 'It must be letters, digits and characters of . _ -',
});

const action = { host: hostName, binary: text, disabled_reason: text.optional() };
const fencing = { ...action, forced_down: booleanWord.optional() };
const update = {
  status: z.enum(['enabled', 'disabled']).optional(),
  disabled_reason: text.optional(),
  forced_down: booleanWord.optional(),
};
const why = { forced_down_reason: text.optional() };

/** Bodies of the update, by version. */
export const UPDATE_BODIES: Versioned<ActionBody | UpdateBody> = [
  { since: 1, schema: z.strictObject(action) },
  { since: 11, schema: z.strictObject(fencing) },
  { since: 11, ebbgate: NOTE_EBBGATE, schema: z.strictObject({ ...fencing, ...why }) },
  { since: 53, schema: z.strictObject(update) },
  { since: 53, ebbgate: NOTE_EBBGATE, schema: z.strictObject({ ...update, ...why }) },
];

const filters = { host: lastText, binary: lastText };

/** Queries of the list, by version. */
export const LIST_QUERIES: Versioned<ListQuery> = [
  { since: 1, schema: z.object(filters) },
  { since: 75, schema: z.strictObject(filters) },
];

const taskView = z.strictObject({
  name: z.string(),
  kind: z.string(),
  subject: z.string().nullable(),
  age_ms: z.number(),
  progress: z.number().nullable(),
});

/** One service, as it is shown. */
const serviceView = z.union([
  z.strictObject({
    id: z.union([z.int(), z.guid()]),
    binary: z.string(),
    host: z.string(),
    zone: z.string(),
    status: z.enum(['enabled', 'disabled']),
    state: z.enum(['up', 'down']),
    updated_at: z.string(),
    disabled_reason: z.string().nullable(),
    forced_down: z.boolean().optional(),
    draining: z.boolean().optional(),
    drain: z
      .strictObject({
        reason: z.string().nullable(),
        step: z.string().nullable(),
        budget_left_ms: z.number().nullable(),
        task_count: z.int(),
        tasks: z.array(taskView),
      })
      .nullable()
      .optional(),
    forced_down_by: z.string().nullable().optional(),
    forced_down_reason: z.string().nullable().optional(),
    forced_down_at: z.string().nullable().optional(),
  }),
  z.strictObject({ binary: z.string(), host: z.string(), status: z.literal('UNKNOWN') }),
]);

/** Answer of the list. */
export const LIST_ANSWER: z.ZodType = z.strictObject({ services: z.array(serviceView) });
/** Answer of an action by name, or of the update by uuid. */
export const UPDATE_ANSWER: z.ZodType = z.strictObject({
  service: z.union([
    z.strictObject({ host: z.string(), binary: z.string(), forced_down: z.boolean() }),
    z.strictObject({
      host: z.string(),
      binary: z.string(),
      status: z.enum(['enabled', 'disabled']),
      disabled_reason: z.string().optional(),
    }),
    serviceView,
  ]),
});

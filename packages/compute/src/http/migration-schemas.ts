import { z } from 'zod';
import type { Versioned } from './api-routes.js';
import { linksView } from './links.js';
import { lastText, pageParameters, type PageQuery } from './paging.js';
import { plainText } from './read-input.js';

/** What the list of migrations is narrowed to. */
export interface MigrationQuery extends PageQuery {
  readonly hidden?: string | undefined;
  readonly host?: string | undefined;
  readonly instance_uuid?: string | undefined;
  readonly source_compute?: string | undefined;
  readonly status?: string | undefined;
  readonly migration_type?: string | undefined;
  readonly 'changes-since'?: Date | undefined;
  readonly 'changes-before'?: Date | undefined;
  readonly user_id?: string | undefined;
  readonly project_id?: string | undefined;
}

const time = z
  .string()
  .max(64)
  .regex(/^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?$/i, {
    error: 'It must be a time of ISO 8601',
  })
  .transform((text, context) => {
    const zoned = /(?:Z|[+-]\d{2}:?\d{2})$/i.test(text.slice(10)) ? text : `${text}Z`;
    const parsed = new Date(zoned);
    if (!Number.isNaN(parsed.getTime())) return parsed;
    context.addIssue('It must be a time of ISO 8601');
    return z.NEVER;
  })
  .optional();
const filters = {
  hidden: lastText,
  host: lastText,
  instance_uuid: lastText,
  source_compute: lastText,
  status: lastText,
  migration_type: lastText,
};
const paged = { ...filters, ...pageParameters, 'changes-since': time };
const bounded = { ...paged, 'changes-before': time };
const oneText = plainText.optional();

/** Queries of the list of all migrations, by version. */
export const MIGRATION_QUERIES: Versioned<MigrationQuery> = [
  { since: 1, schema: z.object(filters) },
  { since: 59, schema: z.strictObject(paged) },
  { since: 66, schema: z.strictObject(bounded) },
  { since: 80, schema: z.strictObject({ ...bounded, user_id: oneText, project_id: oneText }) },
];

/** Body of the action that ends the copying of a live migration. */
export interface ForceCompleteBody {
  readonly force_complete: null;
}
/** By version. */
export const FORCE_COMPLETE_BODIES: Versioned<ForceCompleteBody> = [
  { since: 22, schema: z.strictObject({ force_complete: z.null() }) },
];

const text = z.string().nullable();
const common = {
  id: z.int(),
  uuid: z.string().optional(),
  status: z.string(),
  source_compute: text,
  source_node: text,
  dest_compute: text,
  dest_node: text,
  dest_host: text,
  user_id: text.optional(),
  project_id: text.optional(),
  created_at: text,
  updated_at: text,
};
const number = z.number().nullable();
const migrationView = z.strictObject({
  ...common,
  instance_uuid: z.string(),
  old_instance_type_id: number,
  new_instance_type_id: number,
  migration_type: z.string().optional(),
  links: linksView.optional(),
});
const serverMigrationView = z.strictObject({
  ...common,
  server_uuid: z.string(),
  memory_total_bytes: number,
  memory_processed_bytes: number,
  memory_remaining_bytes: number,
  disk_total_bytes: number,
  disk_processed_bytes: number,
  disk_remaining_bytes: number,
});

/** Answer of the list of all migrations. */
export const MIGRATIONS_ANSWER: z.ZodType = z.strictObject({
  migrations: z.array(migrationView),
  migrations_links: linksView.optional(),
});
/** Answer of the list of a server's migrations. */
export const SERVER_MIGRATIONS_ANSWER: z.ZodType = z.strictObject({
  migrations: z.array(serverMigrationView),
});
/** Answer for one of them. */
export const SERVER_MIGRATION_ANSWER: z.ZodType = z.strictObject({ migration: serverMigrationView });

import { ConfigurationError } from '@ebbgate/core';
import { z } from 'zod';
import { exchangeSchema } from '../main/rpc-options.js';

const whole = (name: string, min: number, max: number, preset: number) =>
  z.coerce
    .number({ error: `--${name} must be a number` })
    .int({ error: `--${name} must be a whole number` })
    .min(min, { error: `--${name} must be at least ${min}` })
    .max(max, { error: `--${name} must be at most ${max}` })
    .default(preset);

const schema = z.strictObject({
  hosts: whole('hosts', 2, 26, 2),
  instances: whole('instances', 1, 50, 1),
  migrationMs: whole('migration-ms', 40, 600_000, 4000),
  bootMs: whole('boot-ms', 0, 600_000, 600),
  drain: z
    .enum(['source', 'dest', 'both'], { error: '--drain must be source, dest or both' })
    .default('source'),
  opsServer: z.boolean().default(true),
  json: z.boolean().default(false),
  logs: z.boolean().default(false),
  transport: z.string().min(1, { error: '--transport must be a URL' }).default('memory:'),
  driver: z.string().min(1, { error: '--driver must be a package or a file' }).optional(),
  exchange: exchangeSchema,
  database: z.string().min(1, { error: '--database must be a URL' }).optional(),
});

/** What the main job can be told. */
export interface JobOptions {
  /** Compute hosts, at least two. */
  readonly hosts: number;
  /** Instances that migrate, one after another. */
  readonly instances: number;
  /** How long the memory of one takes to be copied. */
  readonly migrationMs: number;
  readonly bootMs: number;
  /** Which end of the migrations gets SIGTERM. */
  readonly drain: 'source' | 'dest' | 'both';
  /** False: hosts have no ops server, as before the blueprint. */
  readonly opsServer: boolean;
  /** One JSON object a line instead of text. */
  readonly json: boolean;
  /** Prints what the services log, too. */
  readonly logs: boolean;
  readonly transport: string;
  /** Package or file with the driver for it. */
  readonly driver?: string | undefined;
  /** Where all topics are. */
  readonly exchange: string;
  /** Absent: a new SQLite file, removed at the end. */
  readonly database?: string | undefined;
}

/**
 * The options of the main job from its flags, complete and frozen.
 * @throws ConfigurationError (`ERR_CONFIGURATION`) that names the flag and what it may be
 */
export function readJobOptions(flags: unknown): JobOptions {
  const result = schema.safeParse(flags);
  if (result.success) return Object.freeze(result.data);
  throw new ConfigurationError(result.error.issues.map(({ message }) => message).join('; '));
}

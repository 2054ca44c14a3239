import type { Command } from 'commander';
import { z } from 'zod';
import { PLAIN_NAME, PLAIN_NAME_TEXT } from '../plain-name.js';

/** The name of a cell, of the flag that gives it. */
export function cellNameSchema(flag: string): z.ZodString {
  return z.string().regex(PLAIN_NAME, { error: `${flag} must be ${PLAIN_NAME_TEXT}` });
}

/** Which cell a conductor works in. */
export interface CellFlags {
  /** Its name in the API database. */
  readonly cell?: string | undefined;
  /** Where the cells are told, and in which each instance is. */
  readonly apiDatabase?: string | undefined;
}

export const apiDatabaseSchema: z.ZodOptional<z.ZodString> = z
  .string()
  .min(1, { error: '--api-database must be a URL' })
  .optional();

/** What a conductor is told of cells. */
export const cellShape: {
  readonly cell: z.ZodOptional<z.ZodString>;
  readonly apiDatabase: typeof apiDatabaseSchema;
} = { cell: cellNameSchema('--cell').optional(), apiDatabase: apiDatabaseSchema };

/** Adds the flags. */
export function withCellFlags(command: Command): Command {
  return command
    .option('--cell <name>', 'the cell that it works in, when there are several; needs --api-database')
    .option(
      '--api-database <url>',
      'where the cells are told (cell create); all conductors of all cells share it',
    );
}

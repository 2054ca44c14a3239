import { z } from 'zod';

/** What the command says first, in one line of JSON: itself. */
export const requestSchema: z.ZodType<ControlRequest> = z.object({
  argv: z.array(z.string()).max(1000),
  screen: z.object({ columns: z.number(), rows: z.number() }).nullable(),
});

/** A command that an operator gives to an all-in-one. */
export interface ControlRequest {
  readonly argv: readonly string[];
  /** Size of the terminal; null: none. */
  readonly screen: { readonly columns: number; readonly rows: number } | null;
}

/** What the all-in-one says, one line of JSON each; `exit` is the last. */
export const answerSchema: z.ZodType<ControlAnswer> = z.union([
  z.object({ out: z.string() }),
  z.object({ err: z.string() }),
  z.object({ exit: z.number() }),
]);

export type ControlAnswer = { readonly out: string } | { readonly err: string } | { readonly exit: number };

export function controlLine(value: ControlRequest | ControlAnswer): string {
  return `${JSON.stringify(value)}\n`;
}

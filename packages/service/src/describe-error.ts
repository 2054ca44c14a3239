import { redactText } from '@ebbgate/core';

/**
 * An error as one line for logs and reports: its name, its code and its text, without credentials (SEC-04). Never throws,
 * whatever was thrown: a drain must not end because of what it met.
 */
export function describeError(error: unknown): string {
  try {
    return textOf(error);
  } catch {
    return 'something was thrown that cannot be shown';
  }
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return redactText(String(error));
  const code: unknown = (error as { code?: unknown }).code; // Node's errors and ours have one
  const marked = typeof code === 'string' ? `${error.name} (${code})` : error.name;
  return redactText(`${marked}: ${error.message}`);
}

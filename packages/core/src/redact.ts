/**
 * Credentials of a URL: everything between `://` and the last `@`, also over a `/` that should have been encoded. Bounded,
 * so that no text takes longer than its length.
 */
const URL_CREDENTIALS = /(:\/\/)(?:[^\s"'<>]{0,512}@|[^\s/?#]*@)/g;
/** `password=…`, `"token": "…"`, `Authorization: Bearer …` and their like; with what follows a quoted value without a blank. */
const SECRET_MEMBERS =
  /((?:password|passwd|passphrase|pwd|secret|token|api_?key|private_?key|authorization|credentials?)["']?\s*[=:]\s*)("(?:[^"\\]|\\.|"")*"[^\s&,;}]*|'(?:[^'\\]|\\.|'')*'[^\s&,;}]*|(?:bearer|basic)\s+[^\s&,;}]+|[^\s&,;}]+)/gi;
const MOST_CAUSES = 5;

/** Text without the credentials in it: URLs lose user and password, secret-looking members their value. */
export function redactText(text: string): string {
  return text.replace(URL_CREDENTIALS, '$1***@').replace(SECRET_MEMBERS, '$1***');
}

/** What a thrown value says, redacted. Never throws, whatever was thrown. */
export function errorText(error: unknown): string {
  try {
    return redactText(String(error instanceof Error ? error.message : error));
  } catch {
    return 'something was thrown that cannot be shown';
  }
}

/**
 * An error of somebody else's code as the cause of ours: same name, message, code and stack, the text redacted, the
 * other members (options, URLs, commands) left out, its own causes likewise. Never throws, whatever it is given.
 */
export function redactedCause(cause: unknown): Error {
  return copyOf(cause, 0);
}

function copyOf(cause: unknown, depth: number): Error {
  const copy = new Error(errorText(cause));
  try {
    if (!(cause instanceof Error)) return copy;
    hide(copy, 'name', redactText(cause.name));
    if (cause.stack !== undefined) copy.stack = redactText(cause.stack);
    const code: unknown = (cause as { code?: unknown }).code; // Node's errors have one
    if (typeof code === 'string' || typeof code === 'number') Object.assign(copy, { code });
    if (cause.cause !== undefined && depth < MOST_CAUSES) hide(copy, 'cause', copyOf(cause.cause, depth + 1));
  } catch {
    // It throws when it is looked at, or its name is no text: what has been copied is enough.
  }
  return copy;
}

function hide(error: Error, name: string, value: unknown): void {
  Object.defineProperty(error, name, { value, configurable: true, writable: true });
}

import { ConfigurationError, type ContextValues, type PlainValue, toPlain } from '@ebbgate/core';

/** The members of a context that notifications carry: those of oslo.messaging. No token and no catalogue is among them. */
const ALLOWED: readonly string[] = Object.freeze([
  ...['user_id', 'project_id', 'domain_id', 'user_domain_id', 'project_domain_id', 'is_admin', 'request_id'],
  ...['roles', 'user_name', 'project_name', 'domain_name', 'user_domain_name', 'project_domain_name'],
  ...['service_user_id', 'service_user_domain_id', 'service_user_domain_name', 'service_project_id'],
  ...['service_project_name', 'service_project_domain_id', 'service_project_domain_name', 'service_roles'],
  ...['global_request_id', 'system_scope', 'user', 'domain', 'user_domain', 'project_domain'],
]);
const SECRET = /token|pass|pwd|secret|cred|catalog|private|auth/i;

/**
 * The names of the members that are sent.
 * @param further - of the application's own
 * @throws ConfigurationError (`ERR_CONFIGURATION`) for a name that speaks of a secret
 */
export function allowedMembers(further: readonly string[] = []): ReadonlySet<string> {
  const secret = further.find((name) => typeof name !== 'string' || SECRET.test(name));
  if (secret === undefined) return new Set([...ALLOWED, ...further]);
  throw new ConfigurationError(
    `The context of notifications cannot have "${secret}": whoever listens would have it`,
  );
}

/** What is left of a context for those who listen (SEC-05): allowed members that are plain texts, numbers, or lists of these. */
export function reducedContext(values: ContextValues, allowed: ReadonlySet<string>): ContextValues {
  const reduced = Object.create(null) as Record<string, unknown>; // as one that came off a wire
  for (const name of Object.keys(values)) {
    const value = values[name];
    if (value === undefined || !allowed.has(name)) continue;
    const plain = typeof value === 'string' ? value : toPlain(value, undefined, `context.${name}`);
    if (isFlat(plain)) reduced[name] = plain;
  }
  return reduced;
}

/** An object may hold anything under any name. */
function isFlat(value: PlainValue): boolean {
  if (Array.isArray(value)) return value.every((each) => typeof each !== 'object' || each === null);
  return typeof value !== 'object' || value === null;
}

import { ConfigurationError, type Logger } from '@ebbgate/core';
import { HttpError } from './http-error.js';

/** What a rule looks at. */
export interface PolicySubject {
  readonly roles: readonly string[];
}

type Check = (subject: PolicySubject, rule: (name: string) => boolean) => boolean;

/** Who may do everything. */
export const ADMIN_RULE = 'context_is_admin';
/** Rules that have taken the place of one, which is still understood. */
const SUCCESSORS: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'os_compute_api:os-services',
    ['list', 'update', 'delete'].map((what) => `os_compute_api:os-services:${what}`),
  ],
]);

/**
 * Who may do what, by upstream's rule names. A rule is `role:NAME`, `rule:NAME`, `@` (everybody), `!` (nobody), or these
 * joined by `and`, `or`, `not` and parentheses. What has no rule is for admins.
 */
export class Policy {
  readonly #checks: ReadonlyMap<string, Check>;

  /**
   * @param rules - by name, from a policy file
   * @throws ConfigurationError (`ERR_CONFIGURATION`) for a rule that cannot be read, or that leads back to itself
   */
  constructor(rules: ReadonlyMap<string, string>, logger?: Logger) {
    const all = new Map([[ADMIN_RULE, 'role:admin'], ...successors(rules, logger), ...rules]);
    this.#checks = new Map([...all].map(([name, text]) => [name, parse(name, text)]));
    for (const name of all.keys()) refuseCircles(name, all);
  }

  /** Does the rule let this one through? */
  allows(rule: string, subject: PolicySubject): boolean {
    const check = this.#checks.get(rule) ?? this.#checks.get(ADMIN_RULE);
    return check?.(subject, (name) => this.allows(name, subject)) ?? false;
  }

  /** @throws HttpError 403 */
  enforce(rule: string, subject: PolicySubject): void {
    if (this.allows(rule, subject)) return;
    throw new HttpError(403, `Policy doesn't allow ${rule} to be performed.`);
  }
}

function successors(rules: ReadonlyMap<string, string>, logger?: Logger): [string, string][] {
  return [...SUCCESSORS].flatMap(([old, names]) => {
    const text = rules.get(old);
    if (text === undefined) return [];
    logger?.warn({ rule: old, instead: names }, 'The policy file has a deprecated rule');
    return names.map((name): [string, string] => [name, text]);
  });
}

/** The rules that a text names, as far as they are there. */
function named(text: string): readonly string[] {
  return [...text.matchAll(/(?:^|[\s(])rule:([^\s()]+)/g)].map(([, name = '']) => name);
}

function refuseCircles(start: string, rules: ReadonlyMap<string, string>): void {
  const seen = new Set<string>();
  const waiting = [...named(rules.get(start) ?? '')];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (name === start) throw new ConfigurationError(`The policy rule "${start}" leads back to itself`);
    if (seen.has(name)) continue;
    seen.add(name);
    waiting.push(...named(rules.get(name) ?? ''));
  }
}

const NESTING = 50;

/** Reads a rule by recursive descent: `or` binds less than `and`, that less than `not`. */
function parse(rule: string, text: string): Check {
  const words = text.match(/[()]|[^\s()]+/g) ?? [];
  let at = 0;
  const refused = (why: string): ConfigurationError =>
    new ConfigurationError(`The policy rule "${rule}" cannot be read: ${why}`);
  const next = (): string => words[at++] ?? '';
  const joined = (word: string, read: (depth: number) => Check, depth: number): readonly Check[] => {
    const checks = [read(depth)];
    while (words[at]?.toLowerCase() === word) {
      at += 1;
      checks.push(read(depth));
    }
    return checks;
  };
  const either = (depth: number): Check => {
    const checks = joined('or', both, depth);
    return (subject, lookUp) => checks.some((check) => check(subject, lookUp));
  };
  const both = (depth: number): Check => {
    const checks = joined('and', one, depth);
    return (subject, lookUp) => checks.every((check) => check(subject, lookUp));
  };
  const one = (depth: number): Check => {
    if (depth > NESTING) throw refused('it is nested too deeply');
    const word = next();
    if (word.toLowerCase() === 'not') {
      const check = one(depth + 1);
      return (subject, lookUp) => !check(subject, lookUp);
    }
    if (word !== '(') return leaf(word, refused);
    const check = either(depth + 1);
    if (next() !== ')') throw refused('a parenthesis is not closed');
    return check;
  };
  if (words.length === 0) return () => true; // as upstream reads an empty rule
  const check = either(0);
  if (at < words.length) throw refused(`"${words[at] ?? ''}" is not expected there`);
  return check;
}

function leaf(word: string, refused: (why: string) => ConfigurationError): Check {
  if (word === '@') return () => true;
  if (word === '!') return () => false;
  const [, kind, name = ''] = /^(role|rule):(.+)$/.exec(word) ?? [];
  const wanted = name.toLowerCase();
  if (kind === 'role') return ({ roles }) => roles.some((role) => role.toLowerCase() === wanted);
  if (kind === 'rule') return (_subject, lookUp) => lookUp(name);
  throw refused(
    word === ''
      ? 'it ends too early'
      : `"${word}" is none of role:NAME, rule:NAME, @, !, and, or, not, ( and )`,
  );
}

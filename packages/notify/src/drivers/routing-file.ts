import { readFileSync } from 'node:fs';
import { ConfigurationError, redactedCause } from '@ebbgate/core';
import { parse } from 'yaml';
import { type Pattern, shellPattern } from '../pattern.js';

/** One driver of one group: what its rules take. An absent rule takes all. */
export interface Route {
  readonly driver: string;
  readonly events: readonly Pattern[] | undefined;
  readonly priorities: readonly Pattern[] | undefined;
}

/**
 * Reads the file of oslo.messaging's routing notifier: groups, in them names of drivers, in these `accepted_events` and
 * `accepted_priorities`, each a list of shell patterns.
 * @throws ConfigurationError (`ERR_CONFIGURATION`) for a file that cannot be read or says something else
 */
export function readRoutingFile(path: string): readonly Route[] {
  let content: unknown;
  try {
    content = parse(readFileSync(path, 'utf8'), { logLevel: 'error' }); // a warning would print the line
  } catch (error) {
    throw new ConfigurationError(`The routing file ${path} cannot be read`, { cause: redactedCause(error) });
  }
  const groups = members(content, `The routing file ${path}`);
  return groups.flatMap(([group, drivers]) =>
    members(drivers, `The group "${group}" of ${path}`).map(([driver, rules]) =>
      routeOf(driver, rules, `"${driver}" in the group "${group}" of ${path}`),
    ),
  );
}

function routeOf(driver: string, rules: unknown, where: string): Route {
  const given = new Map(rules === null ? [] : members(rules, where));
  const unknown = [...given.keys()].find(
    (name) => name !== 'accepted_events' && name !== 'accepted_priorities',
  );
  if (unknown !== undefined)
    throw new ConfigurationError(
      `${where} has "${unknown}"; there are accepted_events and accepted_priorities`,
    );
  const patterns = (name: string, adapt: (text: string) => string): readonly Pattern[] | undefined =>
    given.has(name)
      ? texts(given.get(name), `${name} of ${where}`).map((text) => shellPattern(adapt(text)))
      : undefined;
  return {
    driver,
    events: patterns('accepted_events', (text) => text),
    priorities: patterns('accepted_priorities', (text) => text.toLowerCase()),
  };
}

function members(value: unknown, what: string): [string, unknown][] {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return Object.entries(value);
  throw new ConfigurationError(`${what} must be a mapping`);
}

function texts(value: unknown, what: string): readonly string[] {
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value;
  throw new ConfigurationError(`${what} must be a list of text`);
}

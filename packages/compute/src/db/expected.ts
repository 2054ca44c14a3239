import { UnexpectedStateError } from '../errors.js';
import type { NovaObject } from '../objects/nova-object.js';
import type { Expected } from './repositories.js';

/**
 * Is the record in one of the states that a change expects?
 * @throws UnexpectedStateError (`ERR_UNEXPECTED_STATE`) that names the field
 */
export function checkExpected<Fields extends object>(
  kind: string,
  uuid: string,
  record: NovaObject<Fields>,
  expected: Expected<Fields>,
): void {
  const entries = Object.entries(expected) as [keyof Fields & string, readonly unknown[]][]; // of an Expected<Fields>
  for (const [name, allowed] of entries) {
    const value: unknown = record.find(name);
    if (allowed.some((one) => isSame(one, value))) continue;
    throw new UnexpectedStateError(
      `${kind} ${uuid}: ${name} is ${String(value)}, expected ${allowed.map(String).join(' or ')}`,
    );
  }
}

/** Dates are the same when they mean the same moment. */
function isSame(one: unknown, value: unknown): boolean {
  return one === value || (one instanceof Date && value instanceof Date && one.getTime() === value.getTime());
}

/** Does the record have exactly these values (objects and dates never do), and is it to be seen? */
export function matches<Fields extends { readonly deleted: boolean }>(
  record: NovaObject<Fields>,
  where: Partial<Fields>,
): boolean {
  if (where.deleted === undefined && record.find('deleted') === true) return false;
  const wanted = Object.entries(where) as [keyof Fields & string, unknown][]; // the entries of a Partial<Fields>
  return wanted.every(([name, value]) => record.find(name) === value);
}

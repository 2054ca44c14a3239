import { ValidationError, type ValidationIssue } from '@ebbgate/rpc';
import { isOfKind } from './kinds.js';
import type { ArgsOf, MethodRow, ResultOf } from './methods.js';

/**
 * The arguments of a row, checked by name and kind; `args` itself.
 * @throws ValidationError (`ERR_VALIDATION`) that names what is missing, unknown or of the wrong kind.
 */
export function checkArgs<Row extends MethodRow>(
  method: string,
  row: Row,
  args: Readonly<Record<string, unknown>>,
): ArgsOf<Row> {
  const issues: ValidationIssue[] = [];
  const given = new Map(Object.entries(args));
  const optional = new Set(row.older?.flatMap((form) => form.drop));
  for (const [name, kind] of Object.entries(row.args)) {
    if (!given.has(name)) {
      if (!optional.has(name)) issues.push({ path: name, message: 'is missing' });
    } else if (!isOfKind(kind, given.get(name))) {
      issues.push({ path: name, message: `must be ${describe(kind)}` });
    }
    given.delete(name);
  }
  for (const name of given.keys()) issues.push({ path: name.slice(0, 64), message: 'is not an argument' });
  if (issues.length > 0) throw new ValidationError(method, issues);
  return args as ArgsOf<Row>; // each member checked above
}

/**
 * The result of a row, checked; `result` itself.
 * @throws ValidationError (`ERR_VALIDATION`)
 */
export function checkResult<Row extends MethodRow>(method: string, row: Row, result: unknown): ResultOf<Row> {
  if (!isOfKind(row.returns, result)) {
    throw new ValidationError(method, [{ path: '', message: `must be ${describe(row.returns)}` }], {
      part: 'result',
    });
  }
  return result as ResultOf<Row>; // checked above
}

function describe(kind: string): string {
  return kind.endsWith('?') ? `${kind.slice(0, -1)} or null` : kind;
}

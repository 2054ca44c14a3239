import { redactText } from '@ebbgate/core';

/** Longest message and longest trace of an error, in characters, and most lines of a trace. */
const MOST_TEXT = 65_536;
const MOST_LINES = 100;
const MOST_NAME = 256;

/** Most errors of a chain of causes that a trace tells of. */
const MOST_CAUSES = 8;

/** The line that Python writes between an error and the one that it caused. */
const CAUSED = '\nThe above exception was the direct cause of the following exception:\n\n';

const BUILT_IN: ReadonlySet<string> = new Set([
  'Error',
  'AggregateError',
  'EvalError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'TypeError',
  'URIError',
]);

/** A member of an object of anybody's, whose getters may throw. */
export function readMember(value: unknown, name: string): unknown {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return undefined;
  try {
    return Reflect.get(value, name);
  } catch {
    return undefined; // a getter that throws has nothing to tell
  }
}

/** Without secrets, and not longer than a message may be. */
export function cleanText(text: string): string {
  // Cut with room to spare first: a secret that the final cut goes through has been redacted by then.
  return cut(redactText(text.slice(0, MOST_TEXT * 2)), MOST_TEXT);
}

/** Lines without secrets; of too many, or too long ones, the last: they say most. */
export function cleanLines(lines: readonly string[]): string[] {
  const clean: string[] = [];
  let room = MOST_TEXT;
  for (const line of lines.slice(-MOST_LINES).reverse()) {
    const text = cut(cleanText(line), Math.max(room - 64, 0));
    if (clean.length > 0 && text.length > room) break;
    clean.push(text.endsWith('\n') || !line.endsWith('\n') ? text : `${text}\n`);
    room -= text.length;
    if (room <= 0) break;
  }
  return clean.reverse();
}

function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const kept = text.slice(0, most).replace(/[\ud800-\udbff]$/, ''); // not half a surrogate pair
  return `${kept}… (${String(text.length - most)} characters more)`;
}

/** The text of whatever was thrown. What is no error and no text is named by its type: its content may be anything. */
export function messageOf(error: unknown): string {
  if (typeof error === 'string') return error;
  const message = readMember(error, 'message');
  if (typeof message === 'string') return message;
  if (error === undefined || error === null) return `${String(error)} was thrown`;
  return `A value of type ${typeof error} was thrown`;
}

/** How an error names itself, and how its class is called; the same for most. */
export interface ErrorNames {
  readonly name: string;
  readonly type: string;
}

const PLAIN: ErrorNames = Object.freeze({ name: 'Error', type: 'Error' });

/** Is it an error, of this realm or another? Anything can be thrown. */
export function isErrorLike(value: unknown): value is object {
  return typeof value === 'object' && value !== null && typeof readMember(value, 'message') === 'string';
}

/** Subclasses that inherit the name of a built-in error are called by their class. */
export function namesOf(error: unknown): ErrorNames {
  if (!isErrorLike(error)) return PLAIN;
  const constructor = readMember(error, 'constructor');
  const own = nameText(readMember(error, 'name'));
  const type = nameText(readMember(constructor, 'name'));
  const hasType = type !== '' && type !== 'Object' && !BUILT_IN.has(type);
  const inherited = own === '' || BUILT_IN.has(own) || inheritsKind(constructor, own);
  const name = inherited && hasType ? type : own === '' ? 'Error' : own;
  return { name, type: hasType ? type : name };
}

/** Of our family, but without a `kind` of its own: the name is that of the class above. */
function inheritsKind(constructor: unknown, name: string): boolean {
  return (
    typeof constructor === 'function' &&
    readMember(constructor, 'kind') === name &&
    !Object.hasOwn(constructor, 'kind')
  );
}

function nameText(name: unknown): string {
  return typeof name === 'string' ? name.slice(0, MOST_NAME) : '';
}

/**
 * Lines in the manner of Python's traceback, each ending in a newline, the causes first. Without `withStack` every error is one
 * line, `name: message`: where in our code it happened stays at home.
 */
export function traceOf(error: unknown, withStack: boolean): string[] {
  const chain: unknown[] = [];
  for (
    let at = error;
    at !== undefined && chain.length < MOST_CAUSES && !chain.includes(at);
    at = readMember(at, 'cause')
  ) {
    chain.push(at);
  }
  const lines: string[] = [];
  for (const one of chain.reverse()) {
    if (lines.length > 0) lines.push(CAUSED);
    if (withStack) lines.push(...framesOf(one));
    lines.push(`${namesOf(one).name}: ${messageOf(one)}\n`);
  }
  return cleanLines(lines);
}

function framesOf(error: unknown): string[] {
  const stack = readMember(error, 'stack');
  if (typeof stack !== 'string') return [];
  const frames = stack
    .slice(0, MOST_TEXT)
    .split('\n')
    .filter((line) => /^ {4}at /.test(line));
  return frames.length === 0
    ? []
    : ['Stack (most recent call first):\n', ...frames.map((line) => `${line}\n`)];
}

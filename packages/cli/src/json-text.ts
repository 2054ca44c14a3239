/** Characters that steer a terminal, or the reading order of a line, and that JSON lets stand as they are. */
// eslint-disable-next-line no-control-regex -- they are what is looked for
const STEERING = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * A plain value as JSON, on one line or indented. Integers of any size are written in full. NaN and the infinities,
 * which Python peers may send and JSON does not have, become text. Nothing in it steers a terminal.
 *
 * @param indent - spaces a level; 0 for one line
 */
export function jsonText(value: unknown, indent = 0): string {
  return write(value, indent, '');
}

/** Text of others as part of one line on a terminal. */
export function lineText(text: string): string {
  return text.replace(STEERING, escaped);
}

function write(value: unknown, indent: number, margin: string): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value).replace(STEERING, escaped);
    case 'number':
      return numberText(value);
    case 'boolean':
    case 'bigint':
      return String(value);
    case 'object':
      return value === null ? 'null' : writeContainer(value, indent, margin);
    default:
      return 'null';
  }
}

function writeContainer(value: object, indent: number, margin: string): string {
  const inner = margin + ' '.repeat(indent);
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  const parts = Array.isArray(value)
    ? value.map((item) => write(item, indent, inner))
    : members(value).map(
        ([name, item]) => `${write(name, 0, '')}:${indent > 0 ? ' ' : ''}${write(item, indent, inner)}`,
      );
  if (parts.length === 0) return open + close;
  if (indent === 0) return `${open}${parts.join(',')}${close}`;
  return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${margin}${close}`;
}

function members(value: object): [string, unknown][] {
  return Object.entries(value).filter(([, item]) => item !== undefined) as [string, unknown][]; // of any values
}

/** A float beyond 2^53 has an exponent, so that it is not read as an exact integer. */
function numberText(value: number): string {
  if (!Number.isFinite(value)) return `"${String(value)}"`;
  return Number.isInteger(value) && !Number.isSafeInteger(value)
    ? value.toExponential()
    : JSON.stringify(value);
}

function escaped(character: string): string {
  if (character === '\n') return '\\n';
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

import { redactText, type Logger } from '@ebbgate/core';
import { codeOf } from './failure-report.js';
import { lineText } from './json-text.js';
import type { Output } from './output.js';

/** From where on a logger speaks; `none`: it never does. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'none';

const ORDER: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'none'];

/** A logger that writes a line to stderr for everything from a level on. Errors are told by name, code and text. */
export function stderrLogger(output: Output, from: LogLevel): Logger {
  const at = (level: Exclude<LogLevel, 'none'>): Logger['info'] => {
    if (ORDER.indexOf(level) < ORDER.indexOf(from)) return () => undefined;
    return (fields, message) => {
      const plain = Object.fromEntries(
        Object.entries(fields).map(([name, value]) => [name, plainField(value)]),
      );
      output.note(lineText(`${level}: ${message}${shown(plain)}`), { ...plain, log: level, message });
    };
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function plainField(value: unknown): unknown {
  if (!(value instanceof Error)) return typeof value === 'string' ? redactText(value) : value;
  return `${value.name}: ${redactText(value.message)} [${codeOf(value)}]`;
}

/** Lists and objects are for programs. */
function shown(fields: Record<string, unknown>): string {
  const parts = Object.entries(fields).flatMap(([name, value]) => {
    const simple = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
    return simple ? [`${name}=${String(value)}`] : [];
  });
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
}

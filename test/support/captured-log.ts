import { inspect } from 'node:util';
import type { Logger } from '@ebbgate/core';

export type Level = 'debug' | 'info' | 'warn' | 'error';

export interface LogLine {
  readonly level: Level;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** A logger that keeps what it is told. */
export class CapturedLog implements Logger {
  readonly lines: LogLine[] = [];

  debug(fields: object, message: string): void {
    this.#add('debug', fields, message);
  }

  info(fields: object, message: string): void {
    this.#add('info', fields, message);
  }

  warn(fields: object, message: string): void {
    this.#add('warn', fields, message);
  }

  error(fields: object, message: string): void {
    this.#add('error', fields, message);
  }

  at(level: Level): LogLine[] {
    return this.lines.filter((line) => line.level === level);
  }

  /** Everything at info and above as text, with all that hangs on it: errors with their causes and members. */
  ordinaryText(): string {
    const ordinary = this.lines.filter((line) => line.level !== 'debug');
    return inspect(ordinary, { depth: 20, maxArrayLength: null, maxStringLength: null });
  }

  #add(level: Level, fields: object, message: string): void {
    this.lines.push({ level, fields: { ...fields }, message });
  }
}

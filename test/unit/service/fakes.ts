import type { Logger } from '@ebbgate/core';
import type { DrainableServer, ServerEnd, ServiceOptions } from '@ebbgate/service';

/** One line of a log: level, text and fields. */
export interface LogLine {
  readonly level: keyof Logger;
  readonly text: string;
  readonly fields: Record<string, unknown>;
}

/** A logger that keeps what it is told. */
export class RecordingLogger implements Logger {
  readonly lines: LogLine[] = [];

  debug(fields: object, text: string): void {
    this.#add('debug', fields, text);
  }

  info(fields: object, text: string): void {
    this.#add('info', fields, text);
  }

  warn(fields: object, text: string): void {
    this.#add('warn', fields, text);
  }

  error(fields: object, text: string): void {
    this.#add('error', fields, text);
  }

  texts(level?: keyof Logger): string[] {
    return this.lines.filter((line) => level === undefined || line.level === level).map((line) => line.text);
  }

  #add(level: keyof Logger, fields: object, text: string): void {
    this.lines.push({ level, text, fields: { ...fields } });
  }
}

/** What a fake does when one of its methods is called: nothing, throw, hang, or something of its own. */
export type Behaviour = 'ok' | 'throws' | 'rejects' | 'hangs' | (() => Promise<unknown>);

/** Does it, under a name for the error. */
export function behave(behaviour: Behaviour, name: string): Promise<unknown> {
  if (typeof behaviour === 'function') return behaviour();
  if (behaviour === 'throws') throw new Error(`${name} threw`);
  if (behaviour === 'rejects') return Promise.reject(new Error(`${name} rejected`));
  return behaviour === 'hangs' ? new Promise(() => undefined) : Promise.resolve();
}

/** A server that notes in `calls` what is done to it. */
export class FakeServer implements DrainableServer {
  readonly name: string;
  readonly calls: string[];
  readonly behaviours: Partial<Record<'start' | 'stop' | 'wait', Behaviour>>;
  unconfirmed: string[] = [];

  constructor(name: string, calls: string[] = [], behaviours: FakeServer['behaviours'] = {}) {
    this.name = name;
    this.calls = calls;
    this.behaviours = behaviours;
  }

  start(): Promise<unknown> {
    return this.#call('start');
  }

  stop(): Promise<unknown> {
    return this.#call('stop');
  }

  async wait(): Promise<ServerEnd> {
    await this.#call('wait');
    return { unconfirmed: this.unconfirmed };
  }

  #call(method: 'start' | 'stop' | 'wait'): Promise<unknown> {
    this.calls.push(`${this.name} ${method}`);
    return behave(this.behaviours[method] ?? 'ok', `${this.name} ${method}`);
  }
}

/** Budgets that let a whole drain pass in well under a second. */
export const shortBudgets = {
  managerShutdownTimeoutMs: 60,
  cleanupTimeoutMs: 40,
  closingTimeoutMs: 40,
  gracefulShutdownTimeoutMs: 300,
};

/** Options of a service whose parts all work and note what is done to them in `calls`. */
export function fakeParts(
  calls: string[] = [],
): ServiceOptions & { newRequestServer: FakeServer; opsServer: FakeServer } {
  return {
    name: 'compute',
    host: 'a',
    newRequestServer: new FakeServer('new-request', calls),
    opsServer: new FakeServer('ops', calls),
    budgets: shortBudgets,
    manager: {
      initHost: () => void calls.push('initHost'),
      cleanupHost: () => void calls.push('cleanupHost'),
      reportState: ({ state }) => void calls.push(`report ${state}`),
    },
    journal: { write: () => void calls.push('journal') },
    onExit: () => void calls.push('onExit'),
  };
}

/** A promise and the means to settle it. */
export function deferred<T = void>(): {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (error: Error) => void;
} {
  let resolve: (value: T) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

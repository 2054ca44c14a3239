/**
 * May the request have run? `not-sent`: no. `unknown`: perhaps. `answered`: the peer said so itself.
 * It is what a caller needs to know before it tries again.
 */
export type Outcome = 'not-sent' | 'unknown' | 'answered';

/** What every error of the family may be given besides its message. */
export interface MessagingErrorOptions {
  /** What went wrong underneath. */
  readonly cause?: unknown;
  /** May the request have run? Default: the one of the class. */
  readonly outcome?: Outcome;
}

const KINDS: unique symbol = Symbol.for('@ebbgate/core/error-kinds') as never; // one symbol for every copy of the package

/**
 * Base of all errors of the framework. Match on {@link MessagingError.code}; `instanceof` works too, also when two
 * copies of the package are installed. Every code is described in `docs/errors.md`.
 */
export class MessagingError extends Error {
  /** The name by which copies of the package agree on a class. */
  static readonly kind: string = 'MessagingError';

  /** Stable and documented: `ERR_TIMEOUT`, `ERR_DELIVERY`, … */
  readonly code: string;
  /** May the request have run? */
  readonly outcome: Outcome;

  constructor(message: string, options: MessagingErrorOptions & { readonly code?: string } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = options.code ?? 'ERR_MESSAGING';
    this.outcome = options.outcome ?? 'not-sent';
    hide(this, 'name', new.target.kind);
    hide(this, KINDS, kindsOf(new.target));
  }

  /** By the brands of the classes, so that `instanceof` works across two copies of a package. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (typeof value !== 'object' || value === null) return false;
    if (!Object.hasOwn(this, 'kind')) return Function.prototype[Symbol.hasInstance].call(this, value);
    const kinds = (value as { [KINDS]?: unknown })[KINDS]; // our own symbol, absent on foreign objects
    return Array.isArray(kinds) && kinds.includes(this.kind);
  }
}

/** Names and brands are facts about the class, not data of the error: they stay out of inspection and JSON. */
function hide(error: Error, key: PropertyKey, value: unknown): void {
  Object.defineProperty(error, key, { value, enumerable: false, configurable: true, writable: true });
}

const kindsByClass = new WeakMap<object, readonly string[]>();

function kindsOf(type: typeof MessagingError): readonly string[] {
  const known = kindsByClass.get(type);
  if (known) return known;
  const kinds: string[] = [];
  for (let at: unknown = type; typeof at === 'function'; at = Object.getPrototypeOf(at)) {
    if (Object.hasOwn(at, 'kind')) kinds.push((at as typeof MessagingError).kind);
  }
  kindsByClass.set(type, kinds);
  return kinds;
}

/** No answer in time (`ERR_TIMEOUT`); the request may have run. */
export class MessagingTimeoutError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'MessagingTimeoutError';

  constructor(message: string, options: MessagingErrorOptions = {}) {
    super(message, { outcome: 'unknown', ...options, code: 'ERR_TIMEOUT' });
  }
}

/** The broker did not take the message (`ERR_DELIVERY`). `outcome` tells *not-sent* from *unknown*. */
export class MessageDeliveryError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'MessageDeliveryError';

  constructor(message: string, options: MessagingErrorOptions = {}) {
    super(message, { ...options, code: 'ERR_DELIVERY' });
  }
}

/** The destination was never declared: nobody can receive the message (`ERR_UNDELIVERABLE`). */
export class MessageUndeliverableError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'MessageUndeliverableError';

  constructor(message: string, options: MessagingErrorOptions = {}) {
    super(message, { ...options, code: 'ERR_UNDELIVERABLE' });
  }
}

/** More is waiting to be sent, or to be answered, than the limits allow (`ERR_BACKPRESSURE`). */
export class BackpressureError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'BackpressureError';

  constructor(message: string, options: MessagingErrorOptions = {}) {
    super(message, { ...options, code: 'ERR_BACKPRESSURE' });
  }
}

/** A target lacks what the operation needs, or has what it cannot have (`ERR_INVALID_TARGET`). */
export class InvalidTargetError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'InvalidTargetError';
  /** The target as text, if there was one. */
  readonly target: string | undefined;

  constructor(message: string, target?: { toString(): string }, options: MessagingErrorOptions = {}) {
    const text = target?.toString();
    super(text === undefined ? message : `${message}: ${text}`, { ...options, code: 'ERR_INVALID_TARGET' });
    this.target = text;
  }
}

/** A transport URL that cannot be read (`ERR_INVALID_TRANSPORT_URL`). The text never holds its credentials. */
export class InvalidTransportUrlError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'InvalidTransportUrlError';

  constructor(message: string, options: MessagingErrorOptions = {}) {
    super(message, { ...options, code: 'ERR_INVALID_TRANSPORT_URL' });
  }
}

/** An option is unknown, of the wrong type or out of range (`ERR_CONFIGURATION`); the text names it. */
export class ConfigurationError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'ConfigurationError';

  constructor(message: string, options: MessagingErrorOptions = {}) {
    super(message, { ...options, code: 'ERR_CONFIGURATION' });
  }
}

/** No driver was given for the scheme, or it could not be made (`ERR_DRIVER_LOAD`). */
export class DriverLoadError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'DriverLoadError';

  constructor(message: string, options: MessagingErrorOptions = {}) {
    super(message, { ...options, code: 'ERR_DRIVER_LOAD' });
  }
}

/** A server could not begin to listen (`ERR_SERVER_LISTEN`); it may be started again. */
export class ServerListenError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'ServerListenError';

  constructor(message: string, options: MessagingErrorOptions = {}) {
    super(message, { ...options, code: 'ERR_SERVER_LISTEN' });
  }
}

/** `wait()` ran into its time limit (`ERR_WAIT_TIMEOUT`); what still runs goes on, and may be waited for again. */
export class ServerWaitTimeoutError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'ServerWaitTimeoutError';
  /** Handlers that were still running. */
  readonly running: number;
  /** Fetched messages that had no slot yet and were handed back. */
  readonly released: number;

  constructor(
    message: string,
    counts: { running: number; released: number },
    options: MessagingErrorOptions = {},
  ) {
    super(message, { outcome: 'unknown', ...options, code: 'ERR_WAIT_TIMEOUT' });
    this.running = counts.running;
    this.released = counts.released;
  }
}

/** The broker refused the credentials or the permission (`ERR_AUTHENTICATION`). */
export class AuthenticationError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'AuthenticationError';

  constructor(message: string, options: MessagingErrorOptions = {}) {
    super(message, { ...options, code: 'ERR_AUTHENTICATION' });
  }
}

/** The transport was closed before or during the operation (`ERR_TRANSPORT_CLOSED`). */
export class TransportClosedError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'TransportClosedError';

  constructor(message: string, options: MessagingErrorOptions = {}) {
    super(message, { ...options, code: 'ERR_TRANSPORT_CLOSED' });
  }
}

/** A value cannot be sent, or a message cannot be read (`ERR_SERIALIZATION`). Never holds the content. */
export class SerializationError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'SerializationError';
  /** Where in the value, like `args.disk[3].size`; empty for the value as a whole. */
  readonly path: string;

  constructor(message: string, options: MessagingErrorOptions & { readonly path?: string } = {}) {
    super(message, { ...options, code: 'ERR_SERIALIZATION' });
    this.path = options.path ?? '';
  }
}

import { MessagingError, type MessagingErrorOptions } from '@ebbgate/core';

/** What a peer told of an error of its own. */
export interface RemoteErrorDetails {
  /** Name of the error's type at the peer. */
  readonly remoteType: string;
  /** Where that type comes from: a Python module, `builtins`, or `ebbgate` for our own side; empty when not told. */
  readonly remoteModule?: string;
  /** The text of the peer's error. */
  readonly remoteMessage: string;
  /** Lines of the trace as sent, each ending in a newline. */
  readonly remoteTrace?: readonly string[];
}

/**
 * The method of the peer threw, and its type is not registered here (`ERR_REMOTE`). The text is that of
 * oslo.messaging, `Remote error: <type> <message>`, without the trace.
 */
export class RemoteError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'RemoteError';
  /** The name of the type of the peer's error. */
  readonly remoteType: string;
  /** Where the type of the peer's error is defined. */
  readonly remoteModule: string;
  /** The text of the peer's error. */
  readonly remoteMessage: string;
  /** The lines of the peer's stack trace; empty when it sent none. */
  readonly remoteTrace: readonly string[];

  constructor(details: RemoteErrorDetails, options: MessagingErrorOptions = {}) {
    super(`Remote error: ${details.remoteType} ${details.remoteMessage}`, {
      outcome: 'answered',
      ...options,
      code: 'ERR_REMOTE',
    });
    this.remoteType = details.remoteType;
    this.remoteModule = details.remoteModule ?? '';
    this.remoteMessage = details.remoteMessage;
    this.remoteTrace = Object.freeze([...(details.remoteTrace ?? [])]);
  }
}

/** No endpoint has the method, or none lets it be called (`ERR_NO_SUCH_METHOD`). */
export class NoSuchMethodError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'NoSuchMethodError';
  /** The method that was asked for. */
  readonly method: string;

  constructor(method: string, options: MessagingErrorOptions = {}) {
    super(`Endpoint does not support RPC method ${method}`, {
      outcome: 'answered',
      ...options,
      code: 'ERR_NO_SUCH_METHOD',
    });
    this.method = method;
  }
}

/** No endpoint serves the namespace and the version (`ERR_UNSUPPORTED_VERSION`), or the version cannot be read. */
export class UnsupportedVersionError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'UnsupportedVersionError';
  /** The version that was asked for. */
  readonly version: string;
  /** The method that was asked for. */
  readonly method: string | undefined;

  /** @param reason - why, when it is not simply that no endpoint has the version */
  constructor(
    version: string,
    method?: string,
    options: MessagingErrorOptions & { readonly reason?: string } = {},
  ) {
    const attempted = method === undefined ? '' : `. Attempted method: ${method}`;
    const reason = options.reason === undefined ? '' : ` (${options.reason})`;
    super(`Endpoint does not support RPC version ${version}${attempted}${reason}`, {
      outcome: 'answered',
      ...options,
      code: 'ERR_UNSUPPORTED_VERSION',
    });
    this.version = version;
    this.method = method;
  }
}

/** The version cap forbids to send this version (`ERR_VERSION_CAP`). Nothing was sent (RPC-11). */
export class RpcVersionCapError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'RpcVersionCapError';
  /** The version that was to be sent; undefined when none was set. */
  readonly version: string | undefined;
  /** The cap of the client. */
  readonly versionCap: string;

  constructor(version: string | undefined, versionCap: string, options: MessagingErrorOptions = {}) {
    const why =
      version === undefined
        ? `No RPC version was given, and with the version cap ${versionCap} one is needed`
        : `RPC version ${version} cannot be sent under the version cap ${versionCap}: it needs the same major and no ` +
          'higher minor version';
    super(why, { ...options, code: 'ERR_VERSION_CAP' });
    this.version = version;
    this.versionCap = versionCap;
  }
}

/** One thing that is wrong with the arguments or the result of a method. */
export interface ValidationIssue {
  /** Where, like `disk[3].size`; empty for the whole. */
  readonly path: string;
  /** What is wrong with it. Never the value. */
  readonly message: string;
}

/** At most so many issues are spelt out in the text of an error. */
const ISSUES_IN_TEXT = 5;

/** Arguments or a result do not have the form that the contract gives (`ERR_VALIDATION`). */
export class ValidationError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'ValidationError';
  /** The method whose arguments or result these are. */
  readonly method: string;
  /** Each place, and what is wrong with it; never the value. */
  readonly issues: readonly ValidationIssue[];

  /** @param part - what was checked; default `arguments` */
  constructor(
    method: string,
    issues: readonly ValidationIssue[],
    options: MessagingErrorOptions & { readonly part?: 'arguments' | 'result' } = {},
  ) {
    const { part = 'arguments', ...rest } = options;
    super(`The ${part} of ${method} ${part === 'result' ? 'is' : 'are'} not valid: ${issuesText(issues)}`, {
      outcome: 'answered',
      ...rest,
      code: 'ERR_VALIDATION',
    });
    this.method = method;
    this.issues = Object.freeze([...issues]);
  }
}

function issuesText(issues: readonly ValidationIssue[]): string {
  const spelt = issues
    .slice(0, ISSUES_IN_TEXT)
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  const more = issues.length - spelt.length;
  return spelt.join('; ') + (more > 0 ? `; and ${String(more)} more` : '');
}

/** The receiver is draining and takes no new work (`ERR_DRAINING`). Another server may. */
export class DrainingError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'DrainingError';

  constructor(message: string, options: MessagingErrorOptions = {}) {
    super(message, { ...options, code: 'ERR_DRAINING' });
  }
}

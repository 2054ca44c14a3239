import { RemoteErrorRegistry } from '@ebbgate/rpc';

/** The exceptions of the module `remote_errors` that the recordings raise. */
export class QuotaExceeded extends Error {}

/** It has named arguments, as `kwargs`. */
export class FormattedError extends Error {
  readonly kwargs: Readonly<Record<string, string>>;

  constructor(message: string, kwargs: Readonly<Record<string, string>> = {}) {
    super(message);
    this.kwargs = kwargs;
  }
}

/** As Python's. Ours has no error for a missing key. */
export class KeyError extends Error {}

/** What both sides of the recordings know. */
export function recordedErrors(): RemoteErrorRegistry {
  return new RemoteErrorRegistry()
    .register(QuotaExceeded, { module: 'remote_errors' })
    .register(FormattedError, {
      module: 'remote_errors',
      build: ({ args, message, kwargs }) => {
        if (args.length !== 1) throw new TypeError('takes one argument');
        return new FormattedError(message, kwargs as Record<string, string>); // as it was raised
      },
    });
}

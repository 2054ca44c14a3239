/** The command line, or a file or package that it names, is wrong. */
export class UsageError extends Error {
  readonly code = 'ERR_USAGE';

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'UsageError';
  }
}

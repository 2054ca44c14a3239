import { MessagingError, type MessagingErrorOptions } from '@ebbgate/core';

/** A versioned object cannot be read: malformed, or of another major version (`ERR_OBJECT`). */
export class ObjectFormatError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'ObjectFormatError';

  constructor(message: string, options: MessagingErrorOptions = {}) {
    super(message, { ...options, code: 'ERR_OBJECT' });
  }
}

/** A field was read that its object does not carry (`ERR_FIELD_UNSET`). Absent is not null. */
export class FieldUnsetError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'FieldUnsetError';

  constructor(object: string, field: string) {
    super(`${object} carries no field "${field}"`, { code: 'ERR_FIELD_UNSET' });
  }
}

/** There is no record with this id (`ERR_NOT_FOUND`). */
export class RecordNotFoundError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'RecordNotFoundError';

  constructor(record: string, id: string, options: MessagingErrorOptions = {}) {
    super(`There is no ${record} ${id}`, { ...options, code: 'ERR_NOT_FOUND' });
  }
}

/**
 * A record is not in a state from which the change is allowed (`ERR_UNEXPECTED_STATE`): somebody else has changed it.
 * Nothing was written.
 */
export class UnexpectedStateError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'UnexpectedStateError';

  constructor(message: string, options: MessagingErrorOptions = {}) {
    super(message, { ...options, code: 'ERR_UNEXPECTED_STATE' });
  }
}

/** A host refuses a migration before anything has happened (`ERR_MIGRATION_PRE_CHECK`): another one may be tried. */
export class MigrationPreCheckError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'MigrationPreCheckError';

  constructor(message: string, options: MessagingErrorOptions = {}) {
    super(message, { outcome: 'answered', ...options, code: 'ERR_MIGRATION_PRE_CHECK' });
  }
}

/** No host can take the instance (`ERR_NO_VALID_HOST`). */
export class NoValidHostError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'NoValidHostError';

  constructor(message: string, options: MessagingErrorOptions = {}) {
    super(message, { ...options, code: 'ERR_NO_VALID_HOST' });
  }
}

/** The host has no room for the instance (`ERR_NO_RESOURCES`): nothing was done there. */
export class ResourcesUnavailableError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'ResourcesUnavailableError';

  constructor(message: string, options: MessagingErrorOptions = {}) {
    super(message, { ...options, code: 'ERR_NO_RESOURCES' });
  }
}

/** The hypervisor could not do what was asked (`ERR_HYPERVISOR`). */
export class HypervisorError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'HypervisorError';

  constructor(message: string, options: MessagingErrorOptions = {}) {
    super(message, { ...options, code: 'ERR_HYPERVISOR' });
  }
}

/** An external event did not come in time, or says that it failed (`ERR_EXTERNAL_EVENT`). */
export class ExternalEventError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'ExternalEventError';

  constructor(message: string, options: MessagingErrorOptions = {}) {
    super(message, { ...options, code: 'ERR_EXTERNAL_EVENT' });
  }
}

/** The work was ended on purpose: an operator's abort, or the end of the process (`ERR_ABORTED`). */
export class OperationAbortedError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'OperationAbortedError';

  constructor(message: string, options: MessagingErrorOptions = {}) {
    super(message, { outcome: 'unknown', ...options, code: 'ERR_ABORTED' });
  }
}

/** The hypervisor could not do what was asked, and all is as it was before (`ERR_ROLLED_BACK`). */
export class RolledBackError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'RolledBackError';

  constructor(message: string, options: MessagingErrorOptions = {}) {
    super(message, { ...options, code: 'ERR_ROLLED_BACK' });
  }
}

/** The host that an operation needs is down (`ERR_HOST_DOWN`): refused at once, and nothing has happened. */
export class HostDownError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'HostDownError';

  constructor(message: string, options: MessagingErrorOptions = {}) {
    super(message, { outcome: 'not-sent', ...options, code: 'ERR_HOST_DOWN' });
  }
}

/**
 * The host that asks, or is to start, was forced down (`ERR_FENCED`): nothing was done. It may go on with what it does once
 * it has learnt of it, and was called up again.
 */
export class FencedError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'FencedError';

  constructor(message: string, options: MessagingErrorOptions = {}) {
    super(message, { outcome: 'answered', ...options, code: 'ERR_FENCED' });
  }
}

/**
 * The database cannot be reached, or cannot do what was asked (`ERR_DATABASE`). With `outcome` `unknown` the connection
 * was lost while a change was being committed: it is there as a whole, or not at all.
 */
export class DatabaseError extends MessagingError {
  /** The brand of its instances. */
  static override readonly kind: string = 'DatabaseError';

  constructor(message: string, options: MessagingErrorOptions = {}) {
    super(message, { ...options, code: 'ERR_DATABASE' });
  }
}

import { RemoteErrorRegistry } from '@ebbgate/rpc';
import {
  ExternalEventError,
  HypervisorError,
  MigrationPreCheckError,
  NoValidHostError,
  OperationAbortedError,
  RecordNotFoundError,
  UnexpectedStateError,
} from '../errors.js';

/** The errors of a compute host that its callers get as what they are; all others arrive as RemoteError. */
export const remoteErrors: RemoteErrorRegistry = new RemoteErrorRegistry([
  ExternalEventError,
  HypervisorError,
  MigrationPreCheckError,
  NoValidHostError,
  OperationAbortedError,
  UnexpectedStateError,
]).register(RecordNotFoundError, { build: () => new RecordNotFoundError('record', '?') }); // with the peer's own text

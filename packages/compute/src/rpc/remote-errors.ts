import { RemoteErrorRegistry } from '@ebbgate/rpc';
import {
  DatabaseError,
  ExternalEventError,
  FencedError,
  HypervisorError,
  MigrationPreCheckError,
  NoValidHostError,
  OperationAbortedError,
  RecordNotFoundError,
  UnexpectedStateError,
} from '../errors.js';

/** Where Nova has its exceptions. */
const NOVA = 'nova.exception';

const recordNotFound = (): Error => new RecordNotFoundError('record', '?'); // with the peer's own text

/**
 * The errors of a compute host that its callers get as what they are; all others arrive as RemoteError. Those that Nova
 * has too travel under Nova's name, so that a Nova client rebuilds them as its own, and Nova's arrive here as ours.
 */
export const remoteErrors: RemoteErrorRegistry = new RemoteErrorRegistry([
  DatabaseError,
  ExternalEventError,
  FencedError,
  HypervisorError,
  MigrationPreCheckError,
  NoValidHostError,
  OperationAbortedError,
  UnexpectedStateError,
])
  .register(RecordNotFoundError, { build: recordNotFound })
  .register(MigrationPreCheckError, { module: NOVA })
  .register(NoValidHostError, { module: NOVA, name: 'NoValidHost' })
  .register(UnexpectedStateError, { module: NOVA, name: 'UnexpectedTaskStateError' })
  .register(RecordNotFoundError, { module: NOVA, name: 'NotFound', build: recordNotFound });

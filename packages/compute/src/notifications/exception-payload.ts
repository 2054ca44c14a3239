import { faultOf } from '../objects/instance-fault.js';
import { versioned, type VersionedPayload } from './versioned-payload.js';

/** Nova names the module and the function that raised it; ours are not told, nor are stacks. */
const NOT_TOLD = 'unknown';

/**
 * What something failed with: `ExceptionPayload` 1.1, with the message that its user may read, as in the fault of an
 * instance.
 */
export function exceptionPayload(error: unknown): VersionedPayload {
  return versioned('ExceptionPayload', '1.1', {
    module_name: NOT_TOLD,
    function_name: NOT_TOLD,
    exception: error instanceof Error ? error.name : 'Error',
    exception_message: faultOf(error, null).get('message'),
    traceback: '',
  });
}

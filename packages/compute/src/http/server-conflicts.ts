import { MessagingError } from '@ebbgate/core';
import type { Instance } from '../objects/instance.js';
import { HttpError } from './http-error.js';

/** What a refused change tells of the field that was not as it must be. */
const STATE = /\b(vm_state|task_state) is (\S+), expected /;

/** 409, in upstream's words. */
export function conflict(message: string): HttpError {
  return new HttpError(409, message);
}

/** Only administrators change what is locked. @throws HttpError 409 */
export function refuseLocked(instance: Instance, isAdmin: boolean): void {
  if (instance.find('locked') === true && !isAdmin)
    throw conflict(`Instance ${instance.get('uuid')} is locked`);
}

/**
 * Turns the refusal of an action into what upstream tells its client: the state in which the instance is. All else stays as
 * it is.
 *
 * @param action - as upstream calls it in such texts
 * @param instance - as it was found
 */
export function conflictOf(action: string, instance: Instance): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof MessagingError) || error.code !== 'ERR_UNEXPECTED_STATE') throw error;
    const [, name, value] = STATE.exec(error.message) ?? stateOf(instance);
    if (name === undefined) throw error;
    throw conflict(`Cannot '${action}' instance ${instance.get('uuid')} while it is in ${name} ${value}`);
  };
}

/** One that is on no host is refused for that, which its users know by its state. */
function stateOf(instance: Instance): readonly (string | undefined)[] {
  return (instance.find('host') ?? null) === null ? ['', 'vm_state', instance.get('vm_state')] : [];
}

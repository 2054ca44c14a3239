import { MessagingError } from '@ebbgate/core';
import { RemoteError } from '@ebbgate/rpc';
import { defineObject, type ObjectDefinition } from './definition.js';
import type { NovaObject } from './nova-object.js';

/** Why the last operation on an instance failed. */
export interface InstanceFaultFields {
  /** In the manner of HTTP; 500 as for all of Nova's own failures. */
  readonly code: number;
  /** What its user may read: one line, without a stack. */
  readonly message: string;
  /** For administrators: types and codes of the error and of what has caused it, without their texts. Null: not told. */
  readonly details: string | null;
  /** Where it failed; null: not on a compute host. */
  readonly host: string | null;
  /** When it failed. */
  readonly created_at: Date | null;
}

/** Nova's object InstanceFault. */
export type InstanceFault = NovaObject<InstanceFaultFields>;
/** How to make and read Nova's object InstanceFault. */
export const InstanceFault: ObjectDefinition<InstanceFaultFields> = defineObject<InstanceFaultFields>(
  'InstanceFault',
  '1.2',
  ['created_at'],
);

const FAILED = 500;
/** As Nova has it: the width of its column. */
const LONGEST_MESSAGE = 255;
const MOST_CAUSES = 8;

/**
 * What is told of an operation that failed. As in Nova only errors that are made to be read tell their message, all others
 * their type: what a library or a peer says may hold what its user must not read.
 *
 * @param host - where it failed; null: not on a compute host
 */
export function faultOf(error: unknown, host: string | null): InstanceFault {
  return InstanceFault.create({
    code: FAILED,
    message: messageOf(error),
    details: detailsOf(error),
    host,
    created_at: new Date(),
  });
}

function messageOf(error: unknown): string {
  const isForReaders = error instanceof MessagingError && !(error instanceof RemoteError);
  const text = isForReaders ? oneLine(error.message) : '';
  return (text === '' ? typeOf(error) : text).slice(0, LONGEST_MESSAGE);
}

/** Without what moves a cursor or ends a line. */
function oneLine(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ').trim();
}

function detailsOf(error: unknown): string {
  const links: string[] = [];
  for (let one = error; one instanceof Error && links.length < MOST_CAUSES; one = one.cause) {
    links.push(one instanceof MessagingError ? `${typeOf(one)} (${one.code})` : typeOf(one));
  }
  return links.length === 0 ? typeOf(error) : links.join(', caused by ');
}

function typeOf(error: unknown): string {
  if (error instanceof RemoteError) return oneLine(error.remoteType).slice(0, LONGEST_MESSAGE);
  return error instanceof Error ? error.constructor.name : 'Error';
}

/** What a view says in one line of an instance that is in ERROR; empty when there is nothing to say. */
export function faultText(instance: {
  get(field: 'vm_state'): string;
  find(field: 'fault'): InstanceFault | null | undefined;
}): string {
  const fault = instance.get('vm_state') === 'error' ? instance.find('fault') : null;
  return fault ? oneLine(fault.find('message') ?? '') : '';
}

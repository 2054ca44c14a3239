import type { MaybePromise } from '@ebbgate/core';
import type { PolicySubject } from './policy.js';

/** Who asks. */
export interface Caller extends PolicySubject {
  /** Null: nobody in particular. */
  readonly userId: string | null;
  /** Null: none, so that the project in the path counts. */
  readonly projectId: string | null;
}

/** Tells who has a token: what Keystone's middleware does. Others can stand in for the one with a file. */
export interface TokenValidator {
  /** True when whoever asks is an admin: then the API is for this machine alone. */
  readonly isOpen: boolean;
  /**
   * @param token - of the header `X-Auth-Token`; undefined when there is none
   * @returns undefined when it is no valid token
   */
  validate(token: string | undefined): MaybePromise<Caller | undefined>;
}

/** Everybody is an admin, with any token or none. */
export const openAccess: TokenValidator = Object.freeze({
  isOpen: true,
  validate: () => ({ userId: null, projectId: null, roles: ['admin'] }),
});

/** Is it a name or an address of this machine that no other machine can reach? */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return name === 'localhost' || name === '::1' || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/.test(name);
}

import { ConfigurationError } from '@ebbgate/core';
import { RpcVersionCapError, UnsupportedVersionError } from './errors.js';

/** A version as numbers. A part that is absent or is not a number is NaN; an absent revision is 0. */
export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly revision: number;
}

/** Versions a process works with are few; those of hostile peers may be many. */
const MOST_CACHED = 256;
const LONGEST_CACHED = 32;
const cache = new Map<string, Version>();

/** Python's int() allows blanks around the digits. Signs, underscores and other scripts' digits are refused here. */
const WHOLE = /^[\t-\r ]*([0-9]+)[\t-\r ]*$/;

/** Reads a version without judging it: see {@link Version}. Parts beyond the third are ignored. */
export function parseVersion(text: string): Version {
  const known = cache.get(text);
  if (known) return known;
  const [major = '', minor = '', revision = '0'] = text.split('.', 3);
  const version = Object.freeze({
    major: wholeNumber(major),
    minor: wholeNumber(minor),
    revision: wholeNumber(revision),
  });
  if (text.length <= LONGEST_CACHED) {
    if (cache.size >= MOST_CACHED) cache.clear();
    cache.set(text, version);
  }
  return version;
}

function wholeNumber(text: string): number {
  const digits = WHOLE.exec(text)?.[1];
  const value = Number(digits ?? NaN);
  return Number.isSafeInteger(value) ? value : NaN;
}

/**
 * The text itself, if it is a version: a major and a minor integer, and perhaps a revision.
 * @throws ConfigurationError (`ERR_CONFIGURATION`)
 */
export function checkVersion(text: string): string {
  const { major, minor, revision } = typeof text === 'string' ? parseVersion(text) : NO_VERSION;
  if (!Number.isNaN(major + minor + revision)) return text;
  throw new ConfigurationError(`Version must contain a major and minor integer. Got ${shown(text)}`);
}

const NO_VERSION: Version = { major: NaN, minor: NaN, revision: NaN };

function shown(text: unknown): string {
  return typeof text === 'string' ? text.slice(0, 64) : `a value of type ${typeof text}`;
}

/**
 * May a request of version `requested` be served by what implements version `implemented`? The major versions must be
 * equal and the minor one not above; if the minors are equal, neither may the revision be. Without `implemented`
 * anything may, without `requested` nothing (`wire.md` 5.5).
 *
 * @throws UnsupportedVersionError (`ERR_UNSUPPORTED_VERSION`) when a part that the answer depends on is no integer
 */
export function isCompatible(
  implemented: string | null | undefined,
  requested: string | null | undefined,
): boolean {
  if (implemented === null || implemented === undefined) return true;
  if (requested === null || requested === undefined) return false;
  const ours = parseVersion(implemented);
  const theirs = parseVersion(requested);
  if (Number.isNaN(ours.major + theirs.major)) throw unreadable(ours, implemented, requested);
  if (ours.major !== theirs.major) return false;
  if (Number.isNaN(ours.minor + theirs.minor)) throw unreadable(ours, implemented, requested);
  if (ours.minor !== theirs.minor) return theirs.minor < ours.minor;
  if (Number.isNaN(ours.revision + theirs.revision)) throw unreadable(ours, implemented, requested);
  return theirs.revision <= ours.revision;
}

function unreadable(ours: Version, implemented: string, requested: string): UnsupportedVersionError {
  const oursIsBad = Number.isNaN(ours.major + ours.minor + ours.revision);
  const reason = oursIsBad
    ? `the endpoint's own version ${shown(implemented)} needs a major and a minor integer`
    : 'a version needs a major and a minor integer';
  return new UnsupportedVersionError(shown(requested), undefined, { reason });
}

/**
 * May this version be sent under the cap? Without a cap any may; with one, *no version* may not, nor one that cannot
 * be read. Never throws.
 */
export function capAllows(cap: string | null | undefined, version: string | null | undefined): boolean {
  if (cap === null || cap === undefined) return true;
  try {
    return isCompatible(cap, version);
  } catch {
    return false; // what cannot be read is refused (RPC-11)
  }
}

/**
 * Does nothing if the version may be sent under the cap.
 * @throws RpcVersionCapError (`ERR_VERSION_CAP`) naming both
 */
export function checkCap(cap: string | undefined, version: string | undefined): void {
  if (cap !== undefined && !capAllows(cap, version)) throw new RpcVersionCapError(version, cap);
}

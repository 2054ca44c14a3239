import { ConfigurationError } from '@ebbgate/core';
import { COMPUTE_RPC_VERSION } from './topics.js';

/**
 * What the service record of a compute host says of its version: Nova's number for the first service with interface 6.5,
 * so that Nova's own senders know what to make of it.
 */
export const COMPUTE_SERVICE_VERSION = 71;

/** What a host without an ops server says: the last number before that. */
export const SERVICE_VERSION_WITHOUT_OPS = 70;

/** Newest compute interface of each Nova release, as Nova itself lists them. */
const RELEASES: ReadonlyMap<string, string> = new Map([
  ['queens', '5.0'],
  ['rocky', '5.0'],
  ['stein', '5.1'],
  ['train', '5.3'],
  ['ussuri', '5.11'],
  ['victoria', '5.12'],
  ['wallaby', '6.0'],
  ['xena', '6.0'],
  ['yoga', '6.0'],
  ['zed', '6.1'],
  ['antelope', '6.2'],
  ['bobcat', '6.2'],
  ['caracal', '6.3'],
  ['dalmatian', '6.3'],
  ['epoxy', '6.4'],
  ['flamingo', '6.4'],
  ['gazpacho', '6.5'],
]);

/** From which service version on a host knows which interface, the newest first. */
const SERVICE_LEVELS: readonly (readonly [service: number, rpc: string])[] = [
  [COMPUTE_SERVICE_VERSION, COMPUTE_RPC_VERSION],
  [68, '6.4'],
  [67, '6.3'],
  [66, '6.2'],
  [64, '6.1'],
  [56, '6.0'],
];

/** Before that: another major version, which is not spoken here. */
const TOO_OLD = '5.13';

const NUMERIC = /^(\d{1,6})\.\d{1,6}$/;
const MAJOR = COMPUTE_RPC_VERSION.split('.', 1)[0];

/** The compute interface of a host whose record has this service version. */
export function rpcVersionOf(serviceVersion: number): string {
  return SERVICE_LEVELS.find(([since]) => serviceVersion >= since)?.[1] ?? TOO_OLD;
}

/**
 * Reads a version cap: a version (`6.4`), the name of a Nova release (`epoxy`), or `auto`, which is not looked up here.
 * @throws ConfigurationError (`ERR_CONFIGURATION`) that names what it may be
 */
export function readVersionCap(text: string): string {
  if (text === 'auto') return text;
  const version = RELEASES.get(text.toLowerCase()) ?? text;
  const major = NUMERIC.exec(version)?.[1];
  if (major === MAJOR) return version;
  const known = [...RELEASES].filter(([, level]) => level.startsWith(`${MAJOR}.`)).map(([name]) => name);
  const why =
    major === undefined
      ? ''
      : ` (${version}: only ${MAJOR}.x is spoken here, so nothing could be sent under this cap)`;
  throw new ConfigurationError(
    `The compute version cap "${text.slice(0, 64)}" is none${why}: give a version like 6.4, auto, or one of ${known.join(', ')}`,
  );
}

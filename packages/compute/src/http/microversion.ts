import { badRequest, HttpError } from './http-error.js';

/** The newest version of Nova's interface that is understood: 2.96. */
export const NEWEST_MINOR = 96;
/** The newest version of what is ours: `ebbgate 1.2`. */
export const NEWEST_EBBGATE_MINOR = 2;

/** What a client has asked for. */
export interface ApiVersion {
  /** N of Nova's 2.N. */
  readonly minor: number;
  /** N of our own 1.N; 0 when it was not asked for. */
  readonly ebbgate: number;
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

interface Range {
  readonly major: number;
  readonly oldest: number;
  readonly newest: number;
}

const COMPUTE: Range = { major: 2, oldest: 1, newest: NEWEST_MINOR };
const EBBGATE: Range = { major: 1, oldest: 1, newest: NEWEST_EBBGATE_MINOR };

/**
 * The version that a request asks for, by `OpenStack-API-Version: compute 2.N` or `X-OpenStack-Nova-API-Version: 2.N`; the
 * first goes before the second. Beside it `ebbgate 1.N` asks for what is ours alone.
 *
 * @param unasked - the minor version of a request that asks for none
 * @throws HttpError 400 for what is no version, 406 for one that is not understood
 */
export function negotiate(headers: Headers, unasked: number): ApiVersion {
  const asked = byService(textOf(headers['openstack-api-version']));
  const compute = asked.get('compute') ?? textOf(headers['x-openstack-nova-api-version']);
  const ebbgate = asked.get('ebbgate');
  return {
    minor: compute === undefined ? unasked : minorOf(compute, COMPUTE),
    ebbgate: ebbgate === undefined ? 0 : minorOf(ebbgate, EBBGATE),
  };
}

/** What each answer says of its version. */
export function versionHeaders({ minor, ebbgate }: ApiVersion): Readonly<Record<string, string>> {
  const ours = ebbgate === 0 ? '' : `, ebbgate 1.${ebbgate}`;
  return {
    'OpenStack-API-Version': `compute 2.${minor}${ours}`,
    'X-OpenStack-Nova-API-Version': `2.${minor}`,
    Vary: 'OpenStack-API-Version, X-OpenStack-Nova-API-Version',
  };
}

function textOf(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'object' ? header.join(',') : header;
}

function byService(header: string | undefined): ReadonlyMap<string, string> {
  const pairs = (header ?? '').split(',').map((one) => one.trim().split(/\s+/));
  return new Map(pairs.flatMap(([service, version]) => (service && version ? [[service, version]] : [])));
}

function minorOf(text: string, { major, oldest, newest }: Range): number {
  const version = text.trim();
  if (version === 'latest' || version === `${major}.latest`) return newest;
  const [, first, second] = /^([1-9]\d{0,8})\.(0|[1-9]\d{0,8})$/.exec(version) ?? [];
  if (first === undefined || second === undefined) {
    const shown = version.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 64);
    throw badRequest(
      `API Version String ${shown} is of invalid format. Must be of format MajorNum.MinorNum.`,
    );
  }
  const minor = Number(second);
  if (Number(first) === major && minor >= oldest && minor <= newest) return minor;
  throw new HttpError(
    406,
    `Version ${version} is not supported by the API. Minimum is ${major}.${oldest} and maximum is ${major}.${newest}.`,
  );
}

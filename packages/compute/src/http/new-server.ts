import { randomBytes } from 'node:crypto';
import type { NewInstance } from '../api/boot-request.js';
import { flavorById } from '../api/flavors.js';
import type { Flavor } from '../objects/flavor.js';
import { NetworkRequest, NetworkRequestList } from '../objects/network-request.js';
import { OPERATOR } from '../operator/work.js';
import type { ServiceRecord } from '../db/repositories.js';
import type { RouteInput } from './api-routes.js';
import { badRequest } from './http-error.js';
import { type Asker, projectOf } from './server-directory.js';
import type { CreateBody, Hints, NewServer } from './server-schemas.js';
import { zoneOf } from './service-view.js';

const DESCRIPTION_MINOR = 19;

/** Where a new server is wanted. */
export interface Place {
  /** Null: in any. */
  readonly zone: string | null;
  /** There, whether it is up or not; null: none is forced. */
  readonly forced: string | null;
  /** Only there, if it passes the filters; null: anywhere. */
  readonly wanted: string | null;
}

/** The place that a request names: `zone:host:node` in its zone, or a host besides, and not both. @throws HttpError 400 */
export function placeOf({
  availability_zone: given = '',
  host,
  hypervisor_hostname: node,
}: NewServer): Place {
  const [zone = '', ...forced] = given.split(':').map((part) => part.trim());
  if (forced.length > 2)
    throw badRequest('Invalid availability_zone: it must be zone, zone:host or zone:host:node');
  const named = forced.find((part) => part !== '');
  const wanted = host ?? node;
  if (named !== undefined && wanted !== undefined)
    throw badRequest(
      'One mechanism with host and/or hypervisor_hostname and another mechanism with zone:host:node are mutually exclusive.',
    );
  return { zone: zone === '' ? null : zone, forced: named ?? null, wanted: wanted ?? null };
}

/** Is it a host at such a place? */
export function isAt({ zone, forced, wanted }: Place): (service: ServiceRecord) => boolean {
  const named = forced ?? wanted;
  return (service) => (named === null ? zone === null || zoneOf(service) === zone : service.host === named);
}

/** The flavor that a request names, by its id or a link to it. @throws HttpError 400 */
export function wantedFlavor(ref: string): Flavor {
  const flavor = flavorById(ref.split('/').at(-1) ?? '');
  if (flavor) return flavor;
  throw badRequest('The flavor that is named in flavorRef could not be found.');
}

/** A password as upstream makes it: of letters and digits. */
export function freshPassword(): string {
  return randomBytes(9).toString('base64url').replaceAll(/[-_]/g, 'x');
}

/** What a request says of a new server. @throws HttpError 400 */
export function newInstance(
  body: CreateBody,
  asker: Asker & Pick<RouteInput<unknown, unknown>, 'version'>,
  { place, adminPassword }: { readonly place: Place; readonly adminPassword: string },
): NewInstance {
  const { server } = body;
  const { name, imageRef = '', flavorRef, networks } = server;
  if (imageRef === '') throw badRequest('Missing imageRef attribute');
  return {
    name,
    owner: ownerOf(asker),
    flavor: wantedFlavor(flavorRef),
    image: imageRef,
    host: place.wanted,
    forcedHost: place.forced,
    zone: place.zone,
    hints: hintsOf(body['os:scheduler_hints'] ?? body['OS-SCH-HNT:scheduler_hints'] ?? {}),
    more: saidOf(server, asker.version.minor),
    adminPassword,
    networks: networksOf(networks),
  };
}

/** Whoever asks for no project, or has no name, is the operator. */
function ownerOf(asker: Asker): NewInstance['owner'] {
  return {
    userId: asker.caller.userId ?? OPERATOR.userId,
    projectId: projectOf(asker) ?? OPERATOR.projectId,
  };
}

function saidOf(server: NewServer, minor: number): NonNullable<NewInstance['more']> {
  const { name, metadata = {}, key_name = null, hostname = hostnameOf(name) } = server;
  // Before it could be told, the name stood for it.
  const { description = minor < DESCRIPTION_MINOR ? name : null } = server;
  return { hostname, display_description: description, metadata, key_name };
}

function hintsOf(hints: Hints): Readonly<Record<string, readonly string[]>> {
  const lists = Object.entries(hints).map(([name, hint]) => [name, [hint].flat()] as const);
  return Object.fromEntries(lists);
}

/** As upstream: what a host may not be called is left out. */
function hostnameOf(name: string): string {
  const fitting = name
    .toLowerCase()
    .replaceAll(/[ _]/g, '-')
    .replaceAll(/[^\w.-]+/g, '');
  return fitting.replaceAll(/^[.-]+|[.-]+$/g, '').slice(0, 63) || 'server';
}

/** Null: those of the project. */
function networksOf(networks: NewServer['networks']): NetworkRequestList | null {
  if (networks === undefined) return null;
  const asked = typeof networks === 'string' ? [{ uuid: networks }] : networks;
  if (asked.length === 0) return null;
  const requests = asked.map(({ uuid, port, fixed_ip: address, tag }) => {
    if (uuid === undefined && !port) throw badRequest("Bad network format: missing 'uuid'");
    const network_id = port ? null : (uuid ?? null);
    return NetworkRequest.create({
      network_id,
      port_id: port ?? null,
      address: address ?? null,
      tag: tag ?? null,
    });
  });
  return NetworkRequestList.create({ objects: requests });
}

import { isHostUp } from '../api/action-parts.js';
import { MOVES_COLD } from '../api/moves.js';
import { REBUILDABLE } from '../api/rebuilds.js';
import type { ServerApi } from '../api/server-api.js';
import { MOVES_LIVE } from '../api/servers.js';
import { checkExpected } from '../db/expected.js';
import { RecordNotFoundError } from '../errors.js';
import {
  EVACUATE_BODIES,
  type EvacuateBody,
  LIVE_MIGRATE_BODIES,
  type LiveMigrateBody,
  MIGRATE_BODIES,
  type MigrateBody,
  PASSWORD_ANSWER,
  REBUILD_BODIES,
  type RebuildBody,
  RESIZE_BODIES,
} from './action-schemas.js';
import type { HttpParts } from './app.js';
import { badRequest, type HttpError, notFound } from './http-error.js';
import { checksOver } from './migration-checks.js';
import { freshPassword, wantedFlavor } from './new-server.js';
import type { Asked, ServerActions } from './server-actions.js';
import { SERVER_ANSWER } from './server-answers.js';
import { conflict } from './server-conflicts.js';
import { ServerSight } from './server-sight.js';
import { changedView } from './server-view.js';

const SERVERS = 'os_compute_api:servers';
const MIGRATE = 'os_compute_api:os-migrate-server';
const NO_PASSWORD_MINOR = 14;
const LATER_CHECKS_MINOR = 34;
const STOPPED_MINOR = 95;

/** What brings a server to another host, gives it another size, or makes it anew. */
export function registerMoveActions(actions: ServerActions, parts: HttpParts): void {
  const moves = new MoveActions(parts);
  actions.add<LiveMigrateBody>({
    action: 'os-migrateLive',
    summary: 'Moves it to another host while it runs; before 2.34 answered when the checks are over',
    policy: `${MIGRATE}:migrate_live`,
    body: LIVE_MIGRATE_BODIES,
    ask: (asked) => moves.liveMigrate(asked),
  });
  actions.add<MigrateBody>({
    action: 'migrate',
    summary: 'Moves it to another host while it is shut down; from 2.56 to one that is named',
    policy: `${MIGRATE}:migrate`,
    body: MIGRATE_BODIES,
    ask: (asked) => moves.migrate(asked),
  });
  actions.add<{ readonly flavorRef: string }>({
    action: 'resize',
    summary: 'Gives it another size',
    policy: `${SERVERS}:resize`,
    body: RESIZE_BODIES,
    ask: (asked) => moves.resize(asked),
  });
  actions.add({
    action: 'confirmResize',
    summary: 'After migrate or resize: it stays as it is',
    policy: `${SERVERS}:confirm_resize`,
    status: 204,
    ask: ({ api, context, uuid }) => api.moves.confirmResize(context, uuid).catch(notResized),
  });
  actions.add({
    action: 'revertResize',
    summary: 'After migrate or resize: it becomes again what it was, where it was',
    policy: `${SERVERS}:revert_resize`,
    ask: ({ api, context, uuid }) => api.moves.revertResize(context, uuid).catch(notResized),
  });
  actions.add<RebuildBody>({
    action: 'rebuild',
    summary: 'Makes it anew where it is',
    policy: `${SERVERS}:rebuild`,
    body: REBUILD_BODIES,
    answer: SERVER_ANSWER,
    ask: (asked) => moves.rebuild(asked),
  });
  actions.add<EvacuateBody>({
    action: 'evacuate',
    summary: 'Makes it anew on another host, since its own is down; from 2.95 it is stopped then',
    policy: 'os_compute_api:os-evacuate',
    body: EVACUATE_BODIES,
    status: 200,
    answer: PASSWORD_ANSWER,
    alsoLocked: true,
    ask: (asked) => moves.evacuate(asked),
  });
}

class MoveActions {
  readonly #parts: HttpParts;
  readonly #sight: ServerSight;

  constructor(parts: HttpParts) {
    this.#parts = parts;
    this.#sight = new ServerSight(parts);
  }

  async liveMigrate({ input, body, api, context, instance, uuid }: Asked<LiveMigrateBody>): Promise<void> {
    const { host, force = false, block_migration: block, disk_over_commit: diskOverCommit = null } = body;
    if (force && host === null) throw badRequest("Can't force to a non-provided destination");
    checkExpected('instance', uuid, instance, MOVES_LIVE);
    if (host !== null) {
      this.#parts.policy.enforce(`${MIGRATE}:migrate_live:host`, input.caller);
      await checkDestination(api, host);
      if (host === instance.find('host'))
        throw badRequest(`Unable to migrate instance (${uuid}) to current host (${host}).`);
    }
    const waits = input.version.minor < LATER_CHECKS_MINOR;
    const before = waits ? await newest(api, uuid) : 0;
    const blockMigration = block === 'auto' ? null : block;
    await api.servers.liveMigrate(context, uuid, host, { blockMigration, diskOverCommit });
    if (waits) await checksOver(api.parts.records, uuid, before);
  }

  async migrate({ input, body, api, context, instance, uuid }: Asked<MigrateBody>): Promise<void> {
    checkExpected('instance', uuid, instance, MOVES_COLD);
    const host = body?.host ?? null;
    if (host !== null) {
      this.#parts.policy.enforce(`${MIGRATE}:migrate:host`, input.caller);
      await checkDestination(api, host);
      if (host === instance.find('host'))
        throw badRequest('Cannot migrate to the host where the server exists.');
    }
    await api.moves.migrate(context, uuid, host);
  }

  async resize({ body, api, context, instance, uuid }: Asked<{ readonly flavorRef: string }>): Promise<void> {
    checkExpected('instance', uuid, instance, MOVES_COLD);
    const flavor = wantedFlavor(body.flavorRef);
    if (flavor.get('id') === instance.find('flavor')?.get('id'))
      throw badRequest('When resizing, instances must change flavor!');
    await api.moves.resize(context, uuid, flavor);
  }

  async rebuild({ input, body, api, context, uuid }: Asked<RebuildBody>): Promise<unknown> {
    const { imageRef, name, description, metadata, hostname, key_name: key } = body;
    const password = body.adminPass ?? freshPassword();
    const changes = {
      ...(name !== undefined && { display_name: name }),
      ...(description !== undefined && { display_description: description }),
      ...(metadata !== undefined && { metadata }),
      ...(hostname !== undefined && { hostname }),
      ...(key !== undefined && { key_name: key }),
    };
    const instance = await api.rebuilds.rebuild(context, uuid, imageRef, { password, changes });
    const view = changedView(instance, await this.#sight.of(input, api.parts.records, instance));
    const { minor } = input.version;
    input.addHeaders({ Location: input.links.self(`/servers/${uuid}`).href });
    return { server: { ...view, adminPass: password, ...(minor >= 57 && { user_data: null }) } };
  }

  async evacuate(asked: Asked<EvacuateBody>): Promise<unknown> {
    const { input, body, api, context, uuid } = asked;
    await checkEvacuation(asked);
    const { host = null, onSharedStorage = null, adminPass = null } = body;
    const { minor } = input.version;
    const tells = minor < NO_PASSWORD_MINOR;
    const password = adminPass ?? (tells ? freshPassword() : null);
    const targetState = minor >= STOPPED_MINOR ? 'stopped' : null;
    await api.rebuilds.evacuate(context, uuid, host, { password, onSharedStorage, targetState });
    return tells ? { adminPass: password } : undefined;
  }
}

async function checkEvacuation({ body: { host }, api, instance }: Asked<EvacuateBody>): Promise<void> {
  const source = instance.find('host') ?? null;
  if (host !== undefined) await checkDestination(api, host, notFound);
  if (host === source) throw badRequest("The target host can't be the same one.");
  const states: readonly string[] = REBUILDABLE;
  if (source === null || !states.includes(instance.get('vm_state'))) return; // is refused for that
  if (await isHostUp(api.parts, source)) throw badRequest(`Compute service of ${source} is still in use.`);
}

/** A host that is named must be there, and up: it is refused at once else (FD-28). */
async function checkDestination(
  { parts }: ServerApi,
  host: string,
  missing: (message: string) => HttpError = badRequest,
): Promise<void> {
  const [service] = await parts.records.services.find({ binary: 'compute', host });
  if (!service) throw missing(`Compute host ${host} could not be found.`);
  if (!parts.liveness.isUp(service)) throw conflict(`Compute service of ${host} is down`);
}

function notResized(error: unknown): never {
  if (error instanceof RecordNotFoundError) throw badRequest('Instance has not been resized.');
  throw error;
}

/** The number of the newest migration; 0: there is none. */
async function newest({ parts }: ServerApi, uuid: string): Promise<number> {
  const found = await parts.records.migrations.find({ instance_uuid: uuid });
  return found.at(-1)?.get('id') ?? 0;
}

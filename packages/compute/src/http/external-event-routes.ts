import { z } from 'zod';
import { ExternalEvents } from '../api/external-events.js';
import { orUndefined } from '../db/or-undefined.js';
import { InstanceExternalEvent } from '../objects/external-event.js';
import type { ApiRoutes, RouteInput, Versioned } from './api-routes.js';
import type { HttpParts } from './app.js';
import { HttpError } from './http-error.js';
import { plainText } from './read-input.js';
import type { ServiceCell } from './service-directory.js';

interface SentEvent {
  readonly server_uuid: string;
  readonly name: string;
  readonly status?: 'failed' | 'completed' | 'in-progress' | undefined;
  readonly tag?: string | undefined;
}
interface EventsBody {
  readonly events: readonly SentEvent[];
}
/** What has become of an event. */
interface ToldEvent extends Omit<SentEvent, 'status'> {
  readonly status: 'completed' | 'failed';
  readonly code: number;
}
interface Told {
  readonly events: readonly ToldEvent[];
}

const NAMES = [
  [1, ['network-changed', 'network-vif-plugged', 'network-vif-unplugged', 'network-vif-deleted']],
  [51, ['volume-extended']],
  [76, ['power-update']],
  [82, ['accelerator-request-bound']],
  [93, ['volume-reimaged']],
] as const;
/** These say nothing without what they are about. */
const TAGGED: ReadonlySet<string> = new Set(['volume-extended', 'power-update', 'accelerator-request-bound']);

/** Bodies, by version. */
const BODIES: Versioned<EventsBody> = NAMES.map(([since]) => {
  const names: readonly string[] = NAMES.flatMap(([first, some]) => (first <= since ? some : []));
  const event = z.strictObject({
    server_uuid: z.guid({ error: 'It must be a uuid' }),
    name: z.enum(names),
    status: z.enum(['failed', 'completed', 'in-progress']).optional(),
    tag: plainText.optional(),
  });
  return { since, schema: z.strictObject({ events: z.array(event).min(1) }) };
});

const eventView = z.strictObject({
  server_uuid: z.string(),
  name: z.string(),
  status: z.enum(['completed', 'failed']),
  tag: z.string().optional(),
  code: z.int(),
});
/** What the answer is like. */
export const EVENTS_ANSWER: z.ZodType = z.strictObject({ events: z.array(eventView) });

/** `os-server-external-events`: what other services tell of servers. */
export function registerExternalEvents(routes: ApiRoutes, parts: HttpParts): void {
  routes.add<EventsBody>({
    method: 'POST',
    path: '/os-server-external-events',
    summary:
      'Tells the hosts of servers what has happened to their ports and volumes; 207 when not all were: then each has its code',
    policy: 'os_compute_api:os-server-external-events:create',
    body: BODIES,
    status: 200,
    isPartial: (answer) => isPartial(answer as Told), // as just made
    answer: EVENTS_ANSWER,
    errors: [],
    handle: async (input) => ({ events: await tellHosts(parts, input) }),
  });
}

function isPartial({ events }: Told): boolean {
  return events.some(({ code }) => code !== 200);
}

/** All are looked at before the first is sent. One after the other: what is told of a port has an order. */
async function tellHosts(
  parts: HttpParts,
  { body, context }: RouteInput<EventsBody, undefined>,
): Promise<readonly ToldEvent[]> {
  const { records, computeApi } = parts;
  const all: readonly ServiceCell[] = (await parts.cells?.others('')) ?? [{ records, computeApi }];
  const wheres = new Map<string, Promise<Where>>();
  const looked = body.events.map(async (event) => {
    const uuid = event.server_uuid.toLowerCase();
    const where = wheres.get(uuid) ?? whereIs(all, uuid);
    wheres.set(uuid, where);
    const { isKnown, cells } = await where;
    return { event, cells, code: codeOf(event, isKnown, cells.length > 0) };
  });
  const seen = await Promise.all(looked);
  for (const { event, cells, code } of seen) {
    if (code !== 200) continue;
    for (const cell of cells) {
      const sent = new ExternalEvents(cell.records, cell.computeApi).send(context, objectOf(event));
      await sent.catch((error: unknown) => {
        parts.logger.error({ err: error, server: event.server_uuid }, 'An external event was not sent');
        throw new HttpError(503, 'Not every host could be told; send the events again');
      });
    }
  }
  return seen.map(({ event, code }) => ({ ...event, status: code === 200 ? 'completed' : 'failed', code }));
}

/** The cells where a server is on a host: two, while it is on its way from one to the other. */
interface Where {
  readonly isKnown: boolean;
  readonly cells: readonly ServiceCell[];
}

async function whereIs(all: readonly ServiceCell[], uuid: string): Promise<Where> {
  const copies = await Promise.all(
    all.map(async (cell) => {
      const instance = await orUndefined(cell.records.instances.get(uuid));
      return instance && instance.find('deleted') !== true ? [{ cell, instance }] : [];
    }),
  );
  const found = copies.flat();
  const placed = found.filter(({ instance }) => instance.find('host'));
  return { isKnown: found.length > 0, cells: placed.map(({ cell }) => cell) };
}

function codeOf({ name, tag }: SentEvent, isKnown: boolean, isPlaced: boolean): number {
  if (!isKnown) return 404;
  if (TAGGED.has(name) && tag === undefined) return 400;
  return isPlaced ? 200 : 422;
}

function objectOf({ server_uuid, name, status = 'completed', tag }: SentEvent): InstanceExternalEvent {
  const instance_uuid = server_uuid.toLowerCase();
  return InstanceExternalEvent.create({ instance_uuid, name, status, tag: tag ?? null });
}

import { type Logger, type RequestContext, type Transport } from '@ebbgate/core';
import {
  type ClientInterceptor,
  DrainingError,
  RpcClient,
  type ServerInterceptor,
  type ServerRequest,
} from '@ebbgate/rpc';
import type { TaskRegistry } from '@ebbgate/service';
import { checkArgs } from '../rpc/check-args.js';
import type { ConductorApi } from '../rpc/conductor-api.js';
import { COMPUTE_METHODS, computeMethods } from '../rpc/methods.js';
import { objectSerializer } from '../rpc/object-serializer.js';
import { RPC_TOPIC } from '../rpc/topics.js';
import { aborted, pause } from '../virt/pause.js';
import type { RebuildArgs } from './operations/rebuild.js';

/** What requests that come too late are handed on with. */
export interface HandOnParts {
  readonly host: string;
  readonly transport: Transport;
  readonly conductorApi: ConductorApi;
  readonly tasks: TaskRegistry;
  readonly logger: Logger;
  readonly lifetime: AbortSignal;
  readonly isDraining: () => boolean;
  /** Around what is sent to the host's own queue. */
  readonly interceptors?: readonly ClientInterceptor[] | undefined;
}

/** Until the next try, when a request could not be handed on. */
const RETRY_MS = 1000;

/**
 * For the ops server: what begins an operation (column `starts` of the table) and comes after the drain has begun is not
 * begun here (GS-1, GS-64, `decisions.md` 24). It goes to the host's new-request queue, for its next start; an evacuation
 * goes back to the conductors, with this host excluded, since its instance should not wait. What an answer is waited for
 * is refused with DrainingError (`ERR_DRAINING`): nobody waits until the next start. The drain waits until the broker has
 * what is handed on, and until then it stays in the journal; what could not be handed on until the end is named in the
 * drain's report, and taken up by the next start.
 */
export function handOnStarts(parts: HandOnParts): ServerInterceptor {
  const newRequests = new RpcClient(
    parts.transport,
    { topic: RPC_TOPIC, server: parts.host },
    {
      interceptors: parts.interceptors ?? [],
    },
  );
  return function handOn(request, next) {
    const row = request.namespace === null ? computeMethods.get(request.method) : undefined;
    if (row?.starts !== true || !parts.isDraining()) return next(request);
    if (row.kind !== 'cast') throw new DrainingError(`Host ${parts.host} begins nothing any more: it drains`);
    const record = { name: `hand_on:${request.method}`, kind: 'operation' } as const;
    return parts.tasks.track(record, async () => {
      await untilSent(parts, request, () => send(parts, newRequests, request));
      return null;
    });
  };
}

/** Sent twice it does no harm: whoever begins the operation looks first whether it is still to be begun. */
async function untilSent(
  { lifetime, logger }: HandOnParts,
  { method, context }: ServerRequest,
  attempt: () => Promise<void>,
): Promise<void> {
  while (!lifetime.aborted) {
    try {
      await attempt();
      return;
    } catch (error) {
      logger.warn(
        { err: error, method, requestId: context.requestId },
        'A request could not be handed on yet',
      );
      await pause(RETRY_MS, lifetime);
    }
  }
  throw aborted(lifetime);
}

async function send(parts: HandOnParts, newRequests: RpcClient, request: ServerRequest): Promise<void> {
  const { method, args, version } = request;
  const context = request.context.detached();
  if (method === 'rebuild_instance' && args['recreate'] === true) {
    await returnEvacuation(parts, context, args);
    return;
  }
  // As it came: what is handed on is not read.
  await newRequests.prepare({ version }).cast(context, method, args);
}

async function returnEvacuation(
  { host, conductorApi, logger }: HandOnParts,
  context: RequestContext,
  sent: Record<string, unknown>,
): Promise<void> {
  const decoded = objectSerializer.deserializeEntity({}, sent) as Record<string, unknown>; // arguments by name; checked next
  const args: RebuildArgs = checkArgs('rebuild_instance', COMPUTE_METHODS.rebuild_instance, decoded);
  const spec = args.request_spec?.clone() ?? null;
  spec?.update({ ignore_hosts: [...(spec.find('ignore_hosts') ?? []), host] });
  logger.info({ instance: args.instance.get('uuid') }, 'An evacuation to this host goes back: it drains');
  await conductorApi.cast(context, 'rebuild_instance', {
    instance: args.instance,
    orig_image_ref: args.orig_image_ref,
    image_ref: args.image_ref,
    injected_files: args.injected_files,
    new_pass: args.new_pass,
    orig_sys_metadata: args.orig_sys_metadata,
    bdms: args.bdms,
    recreate: true,
    on_shared_storage: args.on_shared_storage,
    preserve_ephemeral: args.preserve_ephemeral,
    host: null,
    request_spec: spec,
    reimage_boot_volume: args.reimage_boot_volume ?? null,
    target_state: args.target_state ?? null,
  });
}

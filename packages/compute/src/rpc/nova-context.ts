import { randomUUID } from 'node:crypto';
import { RequestContext } from '@ebbgate/core';

/** Who asks, and for what request. All may be left out. */
export interface NovaContextOptions {
  /** Null: nobody in particular, as for what a service does by itself. Default null. */
  readonly userId?: string | null;
  /** The project of that user. Default null. */
  readonly projectId?: string | null;
  /** Default: a fresh one, `req-` and a uuid. */
  readonly requestId?: string;
  /** Roles of the user. Default: none. */
  readonly roles?: readonly string[];
  /** May do everything. Default false. */
  readonly isAdmin?: boolean;
  /** When the request came; default now. */
  readonly at?: Date;
}

/**
 * A request's context with the members that Nova's services send and look for (25 of them), so that one of them can be
 * the receiver.
 */
export function novaContext(options: NovaContextOptions = {}): RequestContext {
  const { userId = null, projectId = null, requestId = `req-${randomUUID()}` } = options;
  const { roles = [], isAdmin = false, at = new Date() } = options;
  return new RequestContext({
    user: userId,
    project_id: projectId,
    system_scope: null,
    project: projectId,
    domain: null,
    user_domain: null,
    project_domain: null,
    is_admin: isAdmin,
    read_only: false,
    show_deleted: false,
    auth_token: null,
    request_id: requestId,
    global_request_id: null,
    resource_uuid: null,
    roles: [...roles],
    user_identity: `${userId ?? '-'} ${projectId ?? '-'} - - -`,
    is_admin_project: true,
    user_id: userId,
    read_deleted: 'no',
    remote_address: null,
    timestamp: `${at.toISOString().slice(0, -1)}000`,
    quota_class: null,
    user_name: null,
    service_catalog: [],
    project_name: null,
  });
}

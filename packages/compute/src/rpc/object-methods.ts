export const OBJECTS_RPC_VERSION = '3.0';

/**
 * How Nova's computes reach the database: methods of objects, done by a conductor, in no namespace (`compute-rpc.md` 2.2). The
 * columns are those of the compute methods.
 */
// prettier-ignore
export const OBJECT_METHODS = {
  object_action: {
    since: '1.50', version: '3.0', kind: 'call', topic: 'main', starts: false, route: 'Nova host -> conductor', returns: 'list',
    args: { objinst: 'object', objmethod: 'string', args: 'list', kwargs: 'dict' },
  },
  object_class_action_versions: {
    since: '2.3', version: '3.0', kind: 'call', topic: 'main', starts: false, route: 'Nova host -> conductor', returns: 'any',
    args: { objname: 'string', objmethod: 'string', object_versions: 'dict', args: 'list', kwargs: 'dict' },
  },
  object_backport_versions: {
    since: '2.2', version: '3.0', kind: 'call', topic: 'main', starts: false, route: 'Nova host -> conductor', returns: 'object',
    args: { objinst: 'object', object_versions: 'dict' },
  },
} as const;

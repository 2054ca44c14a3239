/** Topic of new requests: `compute.<host>` is this topic and the host as its server. */
export const RPC_TOPIC = 'compute';

/** Topic of what finishes operations that are under way. Configurable: Nova itself says `compute-alt`. */
export const RPC_TOPIC_OPS = 'compute-ops';

/** Where conductors listen. */
export const CONDUCTOR_TOPIC = 'conductor';

/** Where schedulers listen. */
export const SCHEDULER_TOPIC = 'scheduler';

/** Topic of the conductor that has the records, and of all that there is once. */
export const RECORDS_TOPIC = 'conductor-records';

/** Nova's exchange; the transport's `controlExchange`. */
export const CONTROL_EXCHANGE = 'nova';

/** Newest version of the compute interface. */
export const COMPUTE_RPC_VERSION = '6.5';

/**
 * Receivers from this version on serve the ops topic. It marks the capability and never travels: messages carry their
 * method's own version.
 */
export const OPS_CAPABLE_VERSION = '6.5';

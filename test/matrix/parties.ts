/** Who is stopped: the host that has the instance, the one that gets it, or the conductor that is at the flow. */
export const PARTIES = ['source', 'destination', 'both', 'conductor'] as const;
export type Party = (typeof PARTIES)[number];

/** How it is stopped: by SIGTERM, or by `kill -9`. */
export const WAYS = ['TERM', 'KILL'] as const;
export type Way = (typeof WAYS)[number];

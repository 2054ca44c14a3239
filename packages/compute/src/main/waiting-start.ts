import type { Logger } from '@ebbgate/core';
import { exitCodes } from '@ebbgate/service';
import { whenParentEnds } from './daemon.js';
import type { DaemonOptions } from './daemon-options.js';

/** How a daemon starts that needs something before it has a service. */
export interface WaitingStart<Parts, Begun> {
  readonly options: Pick<DaemonOptions, 'endWithParent'> & { readonly worker?: boolean };
  readonly logger: Logger;
  /** Opens what is needed, and may wait for it. */
  readonly open: () => Promise<Parts>;
  /** Begins to serve; listens to signals when it returns. */
  readonly begin: (parts: Parts) => Begun;
}

/**
 * Opens what a daemon needs, however long that takes. Until it begins to serve SIGTERM, SIGINT and the end of the parent
 * that it goes with end the process, with 0: nothing had begun (GS-104). SIGHUP changes nothing: all is being read.
 * Rejects as `open` and `begin` do.
 */
export async function whenThere<Parts, Begun>(start: WaitingStart<Parts, Begun>): Promise<Begun> {
  const { options, logger, open, begin } = start;
  const giveUp = (reason: string): void => {
    logger.info({ reason }, 'The start is given up; nothing had begun');
    process.exit(exitCodes.clean);
  };
  const goOn = (): void => {
    logger.info({ signal: 'SIGHUP' }, 'There is nothing to reload: it starts');
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, giveUp);
  process.on('SIGHUP', goOn);
  const goesWithParent = options.endWithParent || options.worker === true;
  const forget = goesWithParent
    ? whenParentEnds(() => {
        giveUp('the parent has ended');
      })
    : undefined;
  try {
    return begin(await open());
  } finally {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.off(signal, giveUp);
    process.off('SIGHUP', goOn);
    forget?.();
  }
}

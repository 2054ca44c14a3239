import { RequestContext } from '@ebbgate/core';
import { objectSerializer } from '../rpc/object-serializer.js';
import { type BackgroundParts, beginInBackground } from './background.js';
import type { JournalEntry } from './request-journal.js';

/** So many runs may end in the middle of one request: with more it is taken for what ends them. */
const MOST_TRIES = 5;

/**
 * Takes up the requests that earlier runs have accepted and that are still in the journal, in the order in which they came:
 * as if the broker had delivered them only now. Each looks first whether it is still wanted, and still of this host, as one does that has waited
 * in a queue; so one that had begun all the same, whose instance the rest of the start-up has seen to, does nothing.
 *
 * @param endpoint - that of the servers
 */
export function retakeRequests(parts: BackgroundParts, endpoint: object): void {
  const { accepted, logger } = parts;
  const methods = new Map<string, unknown>(Object.entries(endpoint));
  for (const entry of accepted.left()) {
    const { id, method, tries } = entry;
    const handler = methods.get(method);
    const fields = { method, messageId: id, tries };
    if (typeof handler !== 'function' || tries >= MOST_TRIES) {
      logger.error(fields, 'A request that was accepted before is given up');
      accepted.drop(entry);
      continue;
    }
    logger.info(fields, 'A request is taken up that was accepted before');
    const context = new RequestContext(entry.context);
    beginInBackground(parts, context, { name: `retake:${method}`, kind: 'operation' }, () =>
      accepted.again(entry, async () => {
        await (handler as Handler)(context, argsOf(entry));
      }),
    );
  }
}

type Handler = (context: RequestContext, args: Record<string, unknown>) => unknown;

function argsOf({ args }: JournalEntry): Record<string, unknown> {
  const read = Object.entries(args).map(([name, value]): [string, unknown] => [
    name,
    objectSerializer.deserializeEntity({}, value),
  ]);
  return Object.fromEntries(read); // own members, whatever their names
}

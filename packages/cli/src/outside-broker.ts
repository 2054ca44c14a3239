import type { Transport, TransportUrl } from '@ebbgate/core';
import type { CliContext } from './cli-context.js';
import { type ConnectionOptions, findBroker } from './connection.js';
import { UsageError } from './usage-error.js';

/**
 * Runs `work` with a transport, and closes it after that, whatever comes of it.
 * @throws UsageError when the broker is within this process, where nobody else would be
 */
export async function withOutsideBroker<T>(
  context: CliContext,
  options: ConnectionOptions,
  work: (transport: Transport) => Promise<T>,
): Promise<T> {
  const broker = await findBroker(context, options);
  const transport = broker.open();
  try {
    if (transport.features.crossProcess) return await work(transport);
    throw nobodyElseAt(broker.url);
  } finally {
    await transport.close();
  }
}

/** What is wrong with a broker within this process. */
export function nobodyElseAt({ scheme }: TransportUrl): UsageError {
  return new UsageError(
    `Nobody else is at ${scheme}: this broker lives within one process, and ends with it. Name a broker of your own with ` +
      '--url',
  );
}

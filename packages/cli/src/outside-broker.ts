import type { Transport } from '@ebbgate/core';
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
    throw new UsageError(
      `Nobody else is at ${broker.url.scheme}: this broker lives within one process, and ends with it. Name a broker of ` +
        'your own with --url',
    );
  } finally {
    await transport.close();
  }
}

import { ask, type Pair } from './rabbit-pair.js';
import type { RoundRequest } from './rabbit-peer.js';

const PARTS = 10;
const AT_A_TIME = 256;

/** After a part of the calls. */
export interface HeapRow {
  readonly calls: number;
  readonly clientMiB: number;
  readonly serverMiB: number;
  readonly perSecond: number;
}

const request = (times: number): RoundRequest => ({ kind: 'call', times, concurrency: AT_A_TIME, bytes: 0 });

/** A first round, after which both sides have what they keep for good. */
export async function warmUp({ client }: Pair): Promise<void> {
  await ask(client, request(20_000));
}

/**
 * Ten parts of so many calls, and what is in use after each.
 *
 * @param pair - started with `--expose-gc`
 * @param look - what else belongs to a row
 */
export async function heapOverCalls<More extends object>(
  { client, server }: Pair,
  calls: number,
  look: () => Promise<More>,
): Promise<(HeapRow & More)[]> {
  const rows: (HeapRow & More)[] = [];
  for (let part = 1; part <= PARTS; part += 1) {
    const { heapBytes: clientBytes = NaN, perSecond } = await ask(client, request(calls / PARTS));
    const { heapBytes: serverBytes = NaN } = await ask(server, {});
    const [clientMiB, serverMiB] = [clientBytes / 1024 ** 2, serverBytes / 1024 ** 2];
    const row = { calls: (calls / PARTS) * part, clientMiB, serverMiB, perSecond, ...(await look()) };
    rows.push(row);
    console.error(`${String(row.calls)} calls: ${clientMiB.toFixed(2)} and ${serverMiB.toFixed(2)} MiB`);
  }
  return rows;
}

import { readFileSync, statSync } from 'node:fs';
import { ConfigurationError, type Logger } from '@ebbgate/core';
import { z } from 'zod';
import type { FakeOrder, FakeOrders, GuestNames } from './fake-orders.js';
import { VIRT_STEPS, type VirtStep } from './virt-steps.js';

/** The guest of whom nothing else is said. */
const ANY = '*';

const step = z.enum(VIRT_STEPS, { error: `must be one of ${VIRT_STEPS.join(', ')}` });
const steps = z.array(step).transform((names): ReadonlySet<VirtStep> => new Set(names));
const amount = z.number().min(0).max(1_000_000_000);

const orderSchema = z
  .strictObject({
    copy_mib: amount.optional(),
    disk_mib: amount.optional(),
    bandwidth_mib_s: amount.positive().optional(),
    dirty_mib_s: amount.optional(),
    seconds: z.partialRecord(step, z.number().min(0).max(86_400)).optional(),
    fail_at: steps.optional(),
    stall_at: steps.optional(),
  })
  .transform((order): FakeOrder => ({
    copyMib: order.copy_mib,
    diskMib: order.disk_mib,
    bandwidthMibS: order.bandwidth_mib_s,
    dirtyMibS: order.dirty_mib_s,
    durationsMs: new Map(
      Object.entries(order.seconds ?? {}).map(([name, s]) => [name as VirtStep, s * 1000]),
    ), // checked
    failAt: order.fail_at,
    stallAt: order.stall_at,
  }));

const fileSchema = z.record(z.string(), z.unknown());

type Orders = ReadonlyMap<string, FakeOrder>;

/**
 * Orders in a JSON file, by the uuid or the name of an instance, or `*` for all others. It is read again when it has
 * changed. One that cannot be read then is logged, and the orders stay; one that is gone has none.
 */
export class OrdersFile implements FakeOrders {
  readonly #path: string;
  readonly #logger: Logger;
  #orders: Orders;
  #version: string;

  /** @throws ConfigurationError (`ERR_CONFIGURATION`) for a file that is not there or cannot be read */
  constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
    this.#version = versionOf(path);
    this.#orders = readOrders(path);
  }

  of({ uuid, name }: GuestNames): FakeOrder {
    this.#refresh();
    const byName = name === undefined ? undefined : this.#orders.get(name);
    return this.#orders.get(uuid) ?? byName ?? this.#orders.get(ANY) ?? {};
  }

  #refresh(): void {
    const version = versionOf(this.#path);
    if (version === this.#version) return;
    this.#version = version;
    try {
      this.#orders = version === GONE ? new Map() : readOrders(this.#path);
    } catch (error) {
      this.#logger.error(
        { err: error },
        'The orders of the fake hypervisor cannot be read; the old ones stay',
      );
    }
  }
}

const GONE = '';

function versionOf(path: string): string {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat ? `${stat.ino} ${stat.size} ${stat.mtimeNs}` : GONE;
}

function readOrders(path: string): Orders {
  try {
    const orders = new Map<string, FakeOrder>();
    for (const [guest, order] of Object.entries(fileSchema.parse(JSON.parse(readFileSync(path, 'utf8'))))) {
      const checked = orderSchema.safeParse(order);
      if (!checked.success) throw new Error(`${guest}: ${z.prettifyError(checked.error)}`);
      orders.set(guest, checked.data);
    }
    return orders;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigurationError(`The orders in ${path} cannot be read: ${why}`, { cause: error });
  }
}

import { RECORDS_TOPIC } from '@ebbgate/compute';
import type { SeenMessage } from './broker-tap.js';

/** A message of a flow at which a process can be stopped. */
export interface Step {
  /** Null: to whichever conductor or scheduler is free. */
  readonly host: string | null;
  readonly topic: string;
  readonly method: string;
  /** The method, and what it writes. */
  readonly label: string;
}

/** What hosts change in the records and at the network service; all else that they ask there changes nothing. */
const CHANGES: ReadonlySet<string> = new Set([
  'instance_create',
  'instance_update',
  'migration_create',
  'migration_update',
  'allocation_claim',
  'allocation_transfer',
  'allocation_release',
  'allocate',
  'plug',
  'bind',
  'unbind',
  'activate_binding',
  'deallocate',
]);

/** Written again and again, as often as there is time for it. */
const PROGRESS = /^(memory|disk)_(total|processed|remaining)$|^progress$/;
/** What tells one write from another. */
const TELLING: readonly string[] = ['vm_state', 'task_state', 'status'];

/**
 * The messages of one flow, in the order in which the broker had them: requests to hosts, conductors and schedulers, and
 * what hosts have written. It begins with the request of the user.
 */
export class FlowTrace {
  readonly #steps: Step[] = [];
  readonly #looking = new Set<() => void>();
  /** The instance, and its migrations. */
  readonly #ids: Set<string>;

  constructor(uuid: string) {
    this.#ids = new Set([uuid]);
  }

  get steps(): readonly Step[] {
    return this.#steps;
  }

  take(message: SeenMessage): void {
    if (![...this.#ids].some((id) => message.text.includes(id))) return;
    this.#learn(message.args['migration']);
    this.#learn(message.args['record']);
    const isRecord = message.topic === RECORDS_TOPIC;
    if (isRecord && (this.#steps.length === 0 || !changes(message))) return;
    const { topic, host, method } = message;
    this.#steps.push({ topic, host, method, label: labelOf(message) });
    for (const look of this.#looking) look();
  }

  /** Resolves with the number of the first step, so far or to come, of which this is so. */
  async reached(isIt: (step: Step, number: number) => boolean): Promise<number> {
    return new Promise((resolve) => {
      const look = (): void => {
        const index = this.#steps.findIndex((step, at) => isIt(step, at + 1));
        if (index < 0) return;
        this.#looking.delete(look);
        resolve(index + 1);
      };
      this.#looking.add(look);
      look();
    });
  }

  #learn(record: unknown): void {
    const { uuid } = fieldsOf(record);
    if (typeof uuid === 'string') this.#ids.add(uuid);
  }
}

function changes({ method, args }: SeenMessage): boolean {
  if (!CHANGES.has(method)) return false;
  const names = Object.keys(fieldsOf(args['changes']));
  return names.length === 0 || !names.every((name) => PROGRESS.test(name));
}

function labelOf({ method, args }: SeenMessage): string {
  const fields = { ...fieldsOf(args['record']), ...fieldsOf(args['changes']) };
  const told = TELLING.filter((name) => name in fields).map((name) => `${name}=${String(fields[name])}`);
  return [method, ...told].join(' ');
}

/** Of an object as it is on the wire; none of what is no object. */
function fieldsOf(wire: unknown): Readonly<Record<string, unknown>> {
  if (typeof wire !== 'object' || wire === null || !('nova_object.data' in wire)) return {};
  return wire['nova_object.data'] as Record<string, unknown>; // the fields of an object, by name
}

import { randomUUID } from 'node:crypto';
import type { NetworkState, NetworkStore } from '../db/network-store.js';
import { InstanceExternalEvent } from '../objects/external-event.js';
import type { FakeNetworkingOptions } from './fake.js';
import type { DirectedNetworking, PortedNetworking } from './networking.js';

/** What is kept of one instance. */
interface Ports {
  /** Ids; empty: none was made. */
  readonly ports: readonly string[];
  readonly host: string | null;
  /** Hosts that they are to come to; absent in what was stored before there was such a thing. */
  readonly also?: readonly string[];
  /** Ports whose events wait for an order; null: they are sent at once. */
  readonly held: readonly string[] | null;
}

const NONE: Ports = { ports: [], host: null, held: null };

/**
 * The fake network service with what it knows in the records, so that each of several conductors can speak for it:
 * confirms every interface at once, or when it is told to.
 */
export class StoredNetworking implements DirectedNetworking, PortedNetworking {
  readonly #store: NetworkStore;
  readonly #options: FakeNetworkingOptions;

  constructor(store: NetworkStore, options: FakeNetworkingOptions) {
    this.#store = store;
    this.#options = options;
  }

  async hold(instanceUuid: string): Promise<void> {
    await this.#change(instanceUuid, (known) => ({ ...known, held: known.held ?? [] }));
  }

  async release(instanceUuid: string): Promise<void> {
    let waiting: readonly string[] = [];
    await this.#change(instanceUuid, (known) => {
      waiting = known.held ?? [];
      return { ...known, held: null };
    });
    for (const port of waiting) await this.#options.notify(pluggedEvent(instanceUuid, port));
  }

  async allocate(instanceUuid: string): Promise<readonly string[]> {
    const fresh = [this.#options.portId?.(instanceUuid) ?? randomUUID()];
    let ports: readonly string[] = fresh;
    await this.#change(instanceUuid, (known) => {
      ports = known.ports.length > 0 ? known.ports : fresh;
      return { ...known, ports };
    });
    return ports;
  }

  async adopt(instanceUuid: string, ports: readonly string[]): Promise<void> {
    await this.#change(instanceUuid, (known) => (known.ports.length > 0 ? known : { ...known, ports }));
  }

  async portsOf(instanceUuid: string): Promise<readonly string[]> {
    return portsIn(await this.#store.read(instanceUuid)).ports;
  }

  /** Resolves when it is known, not when the events have arrived. */
  async plug(instanceUuid: string, _host: string): Promise<void> {
    let toSend: readonly string[] = [];
    const known = portsIn(await this.#store.read(instanceUuid));
    if (known.held === null) toSend = known.ports;
    else {
      await this.#change(instanceUuid, (now) => {
        toSend = now.held === null ? now.ports : []; // it was released meanwhile
        return now.held === null ? now : { ...now, held: [...now.held, ...now.ports] };
      });
    }
    for (const port of toSend) {
      void this.#options.notify(pluggedEvent(instanceUuid, port)).catch(this.#options.onError); // it arrives when it arrives
    }
  }

  async bind(instanceUuid: string, host: string): Promise<void> {
    await this.#change(instanceUuid, (known) =>
      known.ports.length === 0 || known.host === host
        ? known
        : { ...known, also: [...without(known, host), host] },
    );
  }

  async unbind(instanceUuid: string, host: string): Promise<void> {
    await this.#change(instanceUuid, (known) => ({ ...known, also: without(known, host) }));
  }

  async activateBinding(instanceUuid: string, host: string): Promise<void> {
    await this.#change(instanceUuid, (known) =>
      known.ports.length > 0 ? { ...known, host, also: without(known, host) } : known,
    );
  }

  async deallocate(instanceUuid: string): Promise<void> {
    await this.#change(instanceUuid, ({ held }) => ({ ...NONE, held }));
  }

  async #change(instanceUuid: string, change: (known: Ports) => Ports): Promise<void> {
    await this.#store.change(instanceUuid, (state) => {
      const changed = change(portsIn(state));
      const { ports, host, held, also = [] } = changed;
      return ports.length === 0 && held === null ? undefined : { ports, host, held, also };
    });
  }
}

function without({ also = [] }: Ports, host: string): readonly string[] {
  return also.filter((one) => one !== host);
}

function portsIn(state: NetworkState | undefined): Ports {
  return state === undefined ? NONE : (state as unknown as Ports); // written above
}

function pluggedEvent(instanceUuid: string, tag: string): InstanceExternalEvent {
  return InstanceExternalEvent.create({
    instance_uuid: instanceUuid,
    name: 'network-vif-plugged',
    status: 'completed',
    tag,
  });
}

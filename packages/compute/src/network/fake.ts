import { randomUUID } from 'node:crypto';
import { InstanceExternalEvent } from '../objects/external-event.js';
import type { Networking, PortedNetworking } from './networking.js';

/** How the fake network service behaves. */
export interface FakeNetworkingOptions {
  /** Sends an event to the hosts concerned. */
  readonly notify: (event: InstanceExternalEvent) => Promise<void>;
  /** Hears of events that could not be sent. */
  readonly onError: (error: unknown) => void;
  /** The id of the first port of an instance; default: a random one. */
  readonly portId?: (instanceUuid: string) => string | undefined;
}

interface Binding {
  readonly ports: readonly string[];
  host: string | null;
  /** Hosts that they are to come to. */
  readonly also: Set<string>;
}

/** A network service that confirms every interface at once, or when it is told to. */
export class FakeNetworking implements Networking, PortedNetworking {
  readonly #options: FakeNetworkingOptions;
  readonly #bindings = new Map<string, Binding>();
  /** Instances whose events wait for an order, and the events that wait. */
  readonly #held = new Map<string, InstanceExternalEvent[]>();

  constructor(options: FakeNetworkingOptions) {
    this.#options = options;
  }

  /** From now on the events of this instance wait until {@link release}. */
  hold(instanceUuid: string): void {
    if (!this.#held.has(instanceUuid)) this.#held.set(instanceUuid, []);
  }

  /** Sends the events of this instance that wait, and holds no more. */
  async release(instanceUuid: string): Promise<void> {
    const events = this.#held.get(instanceUuid) ?? [];
    this.#held.delete(instanceUuid);
    for (const event of events) await this.#options.notify(event);
  }

  /** Where the ports of an instance are active. */
  boundTo(instanceUuid: string): string | null {
    return this.#bindings.get(instanceUuid)?.host ?? null;
  }

  /** Where they are bound besides, by host name. */
  alsoBoundTo(instanceUuid: string): readonly string[] {
    return [...(this.#bindings.get(instanceUuid)?.also ?? [])].sort();
  }

  /** Makes one port, bound to no host, unless the instance has one; resolves with its id, alone in the list. */
  async allocate(instanceUuid: string): Promise<readonly string[]> {
    const known = this.#bindings.get(instanceUuid);
    if (known) return known.ports;
    const ports = [this.#options.portId?.(instanceUuid) ?? randomUUID()];
    this.#bindings.set(instanceUuid, { ports, host: null, also: new Set() });
    return ports;
  }

  /** Ports of another cell's network service; does nothing when the instance has some. */
  async adopt(instanceUuid: string, ports: readonly string[]): Promise<void> {
    if (this.#bindings.has(instanceUuid) || ports.length === 0) return;
    this.#bindings.set(instanceUuid, { ports, host: null, also: new Set() });
  }

  /** The ports of an instance; empty when none was made. */
  async portsOf(instanceUuid: string): Promise<readonly string[]> {
    return this.#bindings.get(instanceUuid)?.ports ?? [];
  }

  /**
   * Sends `network-vif-plugged`, `completed`, for each port: at once and without waiting, or while the instance is held
   * when {@link FakeNetworking.release} is called.
   */
  async plug(instanceUuid: string, _host: string): Promise<void> {
    for (const tag of await this.portsOf(instanceUuid)) {
      const event = InstanceExternalEvent.create({
        instance_uuid: instanceUuid,
        name: 'network-vif-plugged',
        status: 'completed',
        tag,
      });
      const held = this.#held.get(instanceUuid);
      if (held) held.push(event);
      else void this.#options.notify(event).catch(this.#options.onError); // it arrives when it arrives
    }
  }

  /** Binds the ports to one more host; does nothing when there are none, or they belong to it. */
  async bind(instanceUuid: string, host: string): Promise<void> {
    const binding = this.#bindings.get(instanceUuid);
    if (binding && binding.host !== host) binding.also.add(host);
  }

  /** Forgets such a host; does nothing when there is none. */
  async unbind(instanceUuid: string, host: string): Promise<void> {
    this.#bindings.get(instanceUuid)?.also.delete(host);
  }

  /** The ports belong to a host; does nothing when there are none. */
  async activateBinding(instanceUuid: string, host: string): Promise<void> {
    const binding = this.#bindings.get(instanceUuid);
    if (!binding) return;
    binding.host = host;
    binding.also.delete(host);
  }

  /** Forgets the ports and where they are bound; does nothing when there are none. */
  async deallocate(instanceUuid: string): Promise<void> {
    this.#bindings.delete(instanceUuid);
  }
}

import type { MaybePromise } from '@ebbgate/core';

/** What a compute host needs of the network service. */
export interface Networking {
  /** Makes the ports of an instance, if it has none yet; resolves with their ids. */
  allocate(instanceUuid: string): Promise<readonly string[]>;
  /** The ports that an instance has. */
  portsOf(instanceUuid: string): Promise<readonly string[]>;
  /**
   * The interfaces of an instance are there on a host. The network service confirms each by the external event
   * `network-vif-plugged`, with the port's id as its tag, some time later.
   */
  plug(instanceUuid: string, host: string): Promise<void>;
  /** The ports are to come to a host as well: it is bound, beside the one that they belong to. */
  bind(instanceUuid: string, host: string): Promise<void>;
  /** Takes back what {@link Networking.bind} did; does nothing to the host that they belong to. */
  unbind(instanceUuid: string, host: string): Promise<void>;
  /** From now on the ports belong to this host: where the guest runs. No longer to the one before. */
  activateBinding(instanceUuid: string, host: string): Promise<void>;
  /** Removes the ports of an instance; does nothing when it has none. */
  deallocate(instanceUuid: string): Promise<void>;
}

/** A network service by which the ports of an instance can be taken to another cell. */
export interface PortedNetworking extends Pick<Networking, 'portsOf' | 'deallocate'> {
  /** Makes these ports known, bound to no host; does nothing when the instance has ports already. */
  adopt(instanceUuid: string, ports: readonly string[]): Promise<void>;
}

/** A network service whose word for plugged interfaces can be held back. */
export interface DirectedNetworking extends Networking {
  /** From now on the events of this instance wait until they are released. */
  hold(instanceUuid: string): MaybePromise<void>;
  /** Sends the events of this instance that wait, and holds no more. */
  release(instanceUuid: string): MaybePromise<void>;
}

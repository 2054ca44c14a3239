import type { Transport } from '@ebbgate/core';
import {
  NETWORK_METHODS,
  NETWORK_NAMESPACE,
  NETWORK_RPC_VERSION,
  type NetworkMethods,
} from '../rpc/network-methods.js';
import { TableClient, type TableClientOptions } from '../rpc/table-client.js';
import { RECORDS_TOPIC } from '../rpc/topics.js';
import type { Networking } from './networking.js';

/** The fake network service of another process. Everything can also reject as `RpcClient.call` does. */
export class RemoteNetworking implements Networking {
  readonly #client: TableClient<NetworkMethods>;

  constructor(transport: Transport, options: TableClientOptions = {}) {
    this.#client = new TableClient(transport, NETWORK_METHODS, {
      topic: RECORDS_TOPIC,
      namespace: NETWORK_NAMESPACE,
      version: NETWORK_RPC_VERSION,
      ...options,
    });
  }

  /** As {@link FakeNetworking.allocate}; may be asked again after a time-out, as ports are made once. */
  async allocate(instanceUuid: string): Promise<readonly string[]> {
    return texts(await this.#client.call('allocate', { instance_uuid: instanceUuid }));
  }

  /** As {@link FakeNetworking.portsOf}. */
  async portsOf(instanceUuid: string): Promise<readonly string[]> {
    return texts(await this.#client.call('ports_of', { instance_uuid: instanceUuid }));
  }

  /** As {@link FakeNetworking.plug}; resolves when the service knows, not when the event has come. */
  async plug(instanceUuid: string, host: string): Promise<void> {
    await this.#client.call('plug', { instance_uuid: instanceUuid, host });
  }

  /** As {@link FakeNetworking.bind}. */
  async bind(instanceUuid: string, host: string): Promise<void> {
    await this.#client.call('bind', { instance_uuid: instanceUuid, host });
  }

  /** As {@link FakeNetworking.unbind}. */
  async unbind(instanceUuid: string, host: string): Promise<void> {
    await this.#client.call('unbind', { instance_uuid: instanceUuid, host });
  }

  /** As {@link FakeNetworking.activateBinding}. */
  async activateBinding(instanceUuid: string, host: string): Promise<void> {
    await this.#client.call('activate_binding', { instance_uuid: instanceUuid, host });
  }

  /** As {@link FakeNetworking.deallocate}. */
  async deallocate(instanceUuid: string): Promise<void> {
    await this.#client.call('deallocate', { instance_uuid: instanceUuid });
  }

  /** As {@link FakeNetworking.hold}. */
  async hold(instanceUuid: string): Promise<void> {
    await this.#client.call('hold', { instance_uuid: instanceUuid });
  }

  /** As {@link FakeNetworking.release}. */
  async release(instanceUuid: string): Promise<void> {
    await this.#client.call('release', { instance_uuid: instanceUuid });
  }
}

function texts(values: readonly unknown[]): readonly string[] {
  return values.map(String);
}

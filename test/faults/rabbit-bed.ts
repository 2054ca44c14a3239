import { FaultProxy } from '../support/rigs/fault-proxy.js';
import type { RabbitNode } from '../support/rigs/rabbitmq.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';
import { Bed } from './bed.js';

/** A virtual host of its own on the shared RabbitMQ, with and without a proxy in front of it. */
export class RabbitBed extends Bed {
  readonly node: RabbitNode;
  readonly proxy: FaultProxy;
  readonly vhost: string;
  readonly direct: string;
  /** Through the proxy. */
  readonly url: string;

  private constructor(node: RabbitNode, proxy: FaultProxy, direct: string) {
    super();
    this.node = node;
    this.proxy = proxy;
    this.direct = direct;
    this.vhost = decodeURIComponent(new URL(direct).pathname.slice(1));
    this.url = proxy.url(direct);
  }

  static async start(): Promise<RabbitBed> {
    const node = await sharedRabbit();
    const proxy = await FaultProxy.start({ port: node.port });
    const bed = new RabbitBed(node, proxy, await node.vhost());
    bed.onEnd(() => proxy.close());
    return bed;
  }

  override async end(): Promise<void> {
    await this.proxy.heal();
    await super.end();
  }

  /** All queues and exchanges of the virtual host. */
  async objects(): Promise<string[]> {
    const { view } = this.node;
    return [
      ...(await view.queues(this.vhost)).map(({ name }) => `queue ${name}`),
      ...(await view.exchanges(this.vhost)).map(({ name }) => `exchange ${name}`),
    ];
  }
}

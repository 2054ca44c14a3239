import type { RabbitOptions } from '../rabbit-options.js';

/**
 * What can be set for the AMQP 1.0 driver: in the constructor, or in the query of the URL, which wins. What it shares with the
 * driver for AMQP 0-9-1 means the same; the queues are the same ones.
 */
export interface Amqp10Options extends Omit<
  RabbitOptions,
  | 'amqp_auto_delete'
  | 'kombu_compression'
  | 'rabbit_login_method'
  | 'rabbit_stream_fanout'
  | 'enable_cancel_on_failover'
  | 'direct_mandatory_flag'
  | 'acceptance'
> {
  /**
   * Default `auto`: RabbitMQ 3 with its AMQP 1.0 plugin (`/amq/queue/NAME`), or RabbitMQ 4 (`/queues/NAME`, `/exchanges/NAME`), as
   * the broker says which one it is. `plain`: any other broker, which must have its nodes, or make them on use.
   */
  readonly address_form?: 'auto' | 'rabbitmq-3' | 'rabbitmq-4' | 'plain';
  /** Default `PLAIN`. `EXTERNAL`: the client's certificate says who we are. `ANONYMOUS`: nobody asks. */
  readonly sasl_mechanism?: 'PLAIN' | 'EXTERNAL' | 'ANONYMOUS';
  /**
   * Default `named`: replies come to a node whose name we choose. `dynamic`, with `address_form=plain` only: to one that the
   * broker names, another after each reconnect; calls that were under way are not answered then.
   */
  readonly reply_node?: 'named' | 'dynamic';
}

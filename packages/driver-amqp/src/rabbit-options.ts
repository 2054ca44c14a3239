/**
 * What can be set for the RabbitMQ driver: in the constructor, or in the query of the URL, which wins. Names, units
 * (seconds) and defaults are those of oslo.messaging's group `[oslo_messaging_rabbit]`, where not said otherwise. What
 * oslo.messaging has and is not here is refused with the reason.
 */
export interface RabbitOptions {
  /** Default false. The topic exchange and the queues that servers share are durable: they survive a restart of the broker. */
  readonly amqp_durable_queues?: boolean;
  /** Default false. Those are deleted when their last user is gone. Not with quorum queues. */
  readonly amqp_auto_delete?: boolean;

  /** Default false; on for `rabbits:` and `amqps:`. TLS. Chain and host name are verified. */
  readonly ssl?: boolean;
  /** Default: TLS 1.2 or later. `TLSv1_2` or `TLSv1_3`: that one only. */
  readonly ssl_version?: string;
  /** PEM file of the client's key; without it, the key is expected in `ssl_cert_file`. */
  readonly ssl_key_file?: string;
  /** PEM file of the client's certificate. */
  readonly ssl_cert_file?: string;
  /** PEM file of the authorities to trust, instead of those that Node trusts. */
  readonly ssl_ca_file?: string;
  /** Default true. False: the certificate must still be signed by a trusted authority, but may be that of any host. */
  readonly ssl_enforce_hostname_verification?: boolean;

  /**
   * Default 1.0, at most 4.5. Seconds before the first try to connect again, of which half is left to chance; twice as long
   * each time that a connection was lost within ten seconds, up to `rabbit_interval_max`.
   */
  readonly kombu_reconnect_delay?: number;
  /** Default 0. Seconds, a random part of which is added to that delay. */
  readonly kombu_reconnect_splay?: number;
  /** Default none. `gzip`: bodies are compressed (a zlib stream, as kombu makes it). Receivers need no option. */
  readonly kombu_compression?: string;
  /** Default 60. Seconds for which a reply is tried again when the caller's queue is missing. */
  readonly kombu_missing_consumer_retry_timeout?: number;
  /** Default `round-robin`. Or `shuffle`: which host is tried next. */
  readonly kombu_failover_strategy?: 'round-robin' | 'shuffle';
  /** Default `AMQPLAIN`. Or `PLAIN`, or `EXTERNAL`: the client's certificate says who we are. */
  readonly rabbit_login_method?: 'AMQPLAIN' | 'PLAIN' | 'EXTERNAL';
  /** Default 1. Seconds of the first back-off, after a round over all hosts. Half of each back-off is left to chance. */
  readonly rabbit_retry_interval?: number;
  /** Default 2. Seconds by which the back-off grows the first time; twice as many each further time: 1, 3, 7, 15, 30. */
  readonly rabbit_retry_backoff?: number;
  /** Default 30. Seconds up to which the back-off grows. */
  readonly rabbit_interval_max?: number;

  /** Default false. Queue argument `x-ha-policy: all`, which RabbitMQ ignores since 3.0. Not with quorum queues. */
  readonly rabbit_ha_queues?: boolean;
  /** Default false. The queues that servers share are quorum queues, and durable. */
  readonly rabbit_quorum_queue?: boolean;
  /** Default false. Reply and fanout queues are quorum queues. */
  readonly rabbit_transient_quorum_queue?: boolean;
  /** Default 0: none set. Deliveries of one message until a quorum queue drops it; -1 is *no limit* from RabbitMQ 4.0 on. */
  readonly rabbit_quorum_delivery_limit?: number;
  /** Default 0: none set. Messages that a quorum queue keeps in memory; ignored from RabbitMQ 3.10 on. */
  readonly rabbit_quorum_max_memory_length?: number;
  /** Default 0: none set. Bytes that a quorum queue keeps in memory; ignored from RabbitMQ 3.10 on. */
  readonly rabbit_quorum_max_memory_bytes?: number;
  /** Default 1800. Seconds after which the broker deletes a reply or fanout queue that nobody uses; 0: never. */
  readonly rabbit_transient_queues_ttl?: number;
  /**
   * Default false. One stream for all fanouts of a topic instead of a queue each. Needs `rabbit_transient_quorum_queue`
   * and a `rabbit_qos_prefetch_count`.
   */
  readonly rabbit_stream_fanout?: boolean;

  /**
   * Default 0: the server's own `prefetch` (oslo.messaging: without limit). Messages fetched from each queue and not yet
   * settled; never more than that `prefetch`.
   */
  readonly rabbit_qos_prefetch_count?: number;
  /** Default 60. Seconds of the AMQP heartbeat; 0 turns the detection of dead peers off. */
  readonly heartbeat_timeout_threshold?: number;
  /** Default true. False: replies to callers that are gone vanish instead of coming back. */
  readonly direct_mandatory_flag?: boolean;
  /** Default false. Consumers are cancelled when their mirrored queue fails over. */
  readonly enable_cancel_on_failover?: boolean;

  /**
   * Default false. Reply and fanout queues are named `<hostname>:<processname>:<n>` instead of at random, so that a
   * service that restarts finds its own again. Linux only. Needs `processname`.
   */
  readonly use_queue_manager?: boolean;
  /** Default: the name of this host. Part of the names of `use_queue_manager`. */
  readonly hostname?: string;
  /** Part of the names of `use_queue_manager`: the same after each restart, and no other program's on this host. */
  readonly processname?: string;

  /** Ours. Default 10. Seconds that one try to connect to one host may take, the login included. */
  readonly connect_timeout?: number;
  /**
   * Ours. Default `written`: a handler starts when the acknowledgement of its message is written. `confirmed`: when the
   * broker has it, for one round trip more: then no sibling runs the message as well when a link is cut.
   */
  readonly acceptance?: 'written' | 'confirmed';
  /** Ours. Default `shuffled`: each process begins with a random host. `given`: in the order of the URL. */
  readonly host_order?: 'shuffled' | 'given';
  /** Ours. Longest body that is sent: at most the broker's own `max_message_size`. Default 134217728 (128 MiB). */
  readonly max_message_bytes?: number;
}

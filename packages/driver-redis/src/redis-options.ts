/**
 * What can be set for the Redis driver: in the constructor, or in the query of the URL, which wins. Times are in seconds.
 */
export interface RedisOptions {
  /** Default `ebbgate`. What all keys begin with; both sides must have the same one. */
  readonly key_prefix?: string;
  /** Default 30. For how long what a process has fetched and not begun stays its own when nothing is heard of it. */
  readonly lease?: number;
  /** Default 300. Fanouts and replies outlive their owner by so much. */
  readonly private_ttl?: number;
  /** Default 100000; 0: any number. Most entries of one list: beyond, senders are refused (`ERR_BACKPRESSURE`). */
  readonly max_length?: number;
  /** Default 268435456; 0: any size. Most bytes of one list, by the reckoning of `MEMORY USAGE`. */
  readonly max_bytes?: number;
  /** Default 134217728. The longest message that is sent. */
  readonly max_message_bytes?: number;
  /**
   * Default `written`: a handler starts when the acknowledgement is written while the lease is known to hold. `confirmed`: when
   * the store has answered it, one way to the store and back later.
   */
  readonly acceptance?: 'written' | 'confirmed';
  /** Default 5. A command that is not answered in that time means that the connection is dead. */
  readonly command_timeout?: number;
  /** Default 5. For one attempt to connect, all that comes before the first command included. */
  readonly connect_timeout?: number;
  /** Default 10. A connection is tried, and the store asked for its time, so often. */
  readonly heartbeat?: number;
  /** Default 0.1. The first wait before another attempt to connect; it doubles each time. */
  readonly retry_interval?: number;
  /** Default 5. The longest such wait. */
  readonly retry_interval_max?: number;
  /** Default 60. For how long a reply is sent again when the list of its caller is missing. */
  readonly missing_reply_retry?: number;
  /**
   * Default 0. A send, replies aside, resolves only when so many replicas have it: no fail-over loses what was confirmed. Not for a
   * cluster.
   */
  readonly wait_replicas?: number;
  /** Default `shuffled`: the hosts are tried in random order. `given`: in that of the URL. */
  readonly host_order?: 'shuffled' | 'given';
  /** Default false: Sentinels are asked without credentials. True: with those of the URL. */
  readonly sentinel_auth?: boolean;
  /** The file with the authorities that the server's certificate must be of, in PEM. Default: those that Node trusts. */
  readonly ssl_ca_file?: string;
  /** The file with the own certificate, in PEM. */
  readonly ssl_cert_file?: string;
  /** The file with its key, in PEM. Default: it is in the file of the certificate. */
  readonly ssl_key_file?: string;
  /** Default true. The certificate must be for the host of the URL. */
  readonly ssl_enforce_hostname_verification?: boolean;
}

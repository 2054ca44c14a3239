/** What a node tells of a queue. */
export interface QueueInfo {
  readonly name: string;
  readonly type: string;
  readonly durable: boolean;
  readonly auto_delete: boolean;
  readonly exclusive: boolean;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly messages: number;
  readonly messages_ready: number;
  readonly messages_unacknowledged: number;
  readonly consumers: number;
}

/** The members of a quorum queue, by the names of their nodes. */
export interface QuorumInfo {
  readonly name: string;
  readonly members: readonly string[];
  readonly online: readonly string[];
}

export interface ExchangeInfo {
  readonly name: string;
  readonly type: string;
  readonly durable: boolean;
  readonly auto_delete: boolean;
  readonly internal: boolean;
  readonly arguments: Readonly<Record<string, unknown>>;
}

export interface BindingInfo {
  readonly source_name: string;
  readonly destination_name: string;
  readonly destination_kind: string;
  readonly routing_key: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

export interface ConsumerInfo {
  readonly queue_name: string;
  readonly consumer_tag: string;
  readonly channel_pid: string;
  readonly ack_required: boolean;
  readonly prefetch_count: number;
  readonly active: boolean;
}

export interface ConnectionInfo {
  readonly pid: string;
  readonly name: string;
  readonly user: string;
  readonly vhost: string;
  readonly state: string;
  readonly channels: number;
  readonly peer_port: number;
  readonly client_properties: Readonly<Record<string, unknown>>;
}

export interface ChannelInfo {
  readonly pid: string;
  readonly connection: string;
  readonly number: number;
  readonly confirm: boolean;
  readonly consumer_count: number;
  readonly messages_unacknowledged: number;
  readonly prefetch_count: number;
}

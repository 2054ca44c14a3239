/** How a recorded case is shown to be the same with ours, beyond what every replay checks. */
export interface CaseCover {
  /** Options of the driver in the recording. */
  readonly options?: Readonly<Record<string, string | number | boolean>>;
  /**
   * What is replayed: the declarations of both sides and their handshake; our client for the recorded sends, given the
   * recorded replies; our server, given the recorded requests. All three where nothing is said.
   */
  readonly replays?: readonly ('declarations' | 'client' | 'server')[];
  /** The client knows none of the exceptions. */
  readonly knowsNoErrors?: true;
  /** The test beside the replays that shows the rest of the case, by its file; its title names the case. */
  readonly also?: string;
}

const SPECIAL = 'captures-special.test.ts';
const BROKER = 'captures-broker.test.ts';

/** The queue manager's names are counted by program: each run of the tests is one of its own (recorded: `proc1`). */
const QUEUE_MANAGER = {
  use_queue_manager: true,
  hostname: 'host1',
  processname: `proc${String(process.pid)}`,
};

/** One row for each file of `test/fixtures/oslo`. */
export const CASES: Readonly<Record<string, CaseCover>> = {
  access_policies: {},
  amqp_heartbeats: { options: { heartbeat_timeout_threshold: 2 }, also: SPECIAL },
  call_exception_allowed: {},
  call_exception_builtin: {},
  call_exception_not_allowed: { knowsNoErrors: true },
  call_expected_exception: {},
  call_expired_request: { replays: ['declarations', 'client'], also: BROKER },
  call_falsy_results: {},
  call_fanout_refused: { replays: ['declarations'], also: SPECIAL },
  call_monitor: {},
  call_monitor_too_small: {},
  call_monitor_unknown_method: {},
  call_namespace_version: {},
  call_no_server: { replays: ['declarations', 'client'] },
  call_none: {},
  call_private_method: {},
  call_result: {},
  call_timeout: {},
  cast: {},
  cast_fanout: {},
  concurrent_calls: {},
  context_keys: {},
  duplicate_request: { replays: ['declarations', 'server'] },
  durable_conflict: { options: { amqp_durable_queues: true }, replays: [], also: BROKER },
  json_payload_serializer: {},
  large_payload: {},
  mandatory: {},
  odd_replies: { replays: ['declarations', 'client'] },
  odd_requests: { replays: ['declarations', 'server'] },
  odd_types: {},
  opt_auto_delete: { options: { amqp_auto_delete: true } },
  opt_cancel_on_failover: { options: { enable_cancel_on_failover: true } },
  opt_compression_bz2: { replays: ['declarations'], also: SPECIAL },
  opt_compression_gzip: { options: { kombu_compression: 'gzip' } },
  opt_durable: { options: { amqp_durable_queues: true } },
  opt_ha_queues: { options: { rabbit_ha_queues: true } },
  opt_login_plain: { options: { rabbit_login_method: 'PLAIN', heartbeat_timeout_threshold: 2 } },
  opt_no_heartbeat: { options: { heartbeat_timeout_threshold: 0 } },
  opt_prefetch: { options: { rabbit_qos_prefetch_count: 10 } },
  opt_quorum: { options: { rabbit_quorum_queue: true, rabbit_quorum_delivery_limit: 5 } },
  opt_transient_ttl: { options: { rabbit_transient_queues_ttl: 60 } },
  other_exchange: {},
  ping: {},
  reconnect: { also: BROKER },
  reply_queue_deleted: { also: BROKER },
  reply_queue_gone: {
    options: { kombu_missing_consumer_retry_timeout: 2 },
    replays: ['declarations'],
    also: SPECIAL,
  },
  requests_between_stop_and_wait: { replays: ['declarations', 'client'], also: BROKER },
  stop_and_wait: { also: BROKER },
  to_server: {},
  unicode_text: {},
  version_cap: { also: SPECIAL },
  'head/call_exception_builtin': {},
  'head/call_exception_not_allowed': { knowsNoErrors: true },
  'head/call_monitor': {},
  'head/call_monitor_unknown_method': {},
  'head/call_result': {},
  'head/call_timeout': {},
  'head/cast_fanout': {},
  'head/context_keys': {},
  'head/head_call_latency': { also: SPECIAL },
  'head/head_durable_conflict': {
    options: { amqp_durable_queues: true },
    replays: ['client', 'server'],
    also: BROKER,
  },
  'head/head_no_transient_ttl': { options: { rabbit_transient_queues_ttl: 0 } },
  'head/head_queue_manager': {
    options: QUEUE_MANAGER,
  },
  'head/head_quorum_everywhere': {
    options: { rabbit_quorum_queue: true, rabbit_transient_quorum_queue: true },
  },
  'head/head_stream_fanout': {
    options: {
      rabbit_stream_fanout: true,
      rabbit_transient_quorum_queue: true,
      rabbit_qos_prefetch_count: 10,
    },
  },
  'head/head_transient_quorum': { options: { rabbit_transient_quorum_queue: true } },
  'head/mandatory': {},
  'head/opt_quorum': { options: { rabbit_quorum_queue: true, rabbit_quorum_delivery_limit: 5 } },
  'head/reconnect': { also: BROKER },
};

/** Is this part of the case replayed? */
export function isReplayed({ replays }: CaseCover, part: 'declarations' | 'client' | 'server'): boolean {
  return replays?.includes(part) ?? true;
}

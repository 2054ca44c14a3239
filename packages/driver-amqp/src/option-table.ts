import { ConfigurationError } from '@ebbgate/core';
import { COMPRESSION_NAMES } from './compression.js';
import { choice, decimal, flag, type OptionKind, text, whole } from './option-kinds.js';
import type { RabbitOptions } from './rabbit-options.js';
import { nearNames, refusalOf, rightName } from './refused-options.js';

/** Longest back-off that can be asked for. */
const DAY_S = 86_400;
/** What AMQP holds in a short integer. */
const SHORT = 0xffff;
const INT = 0x7fff_ffff;
/** RabbitMQ takes at most 2^32 - 1 milliseconds. */
const MOST_TTL_S = 4_294_967;
/** Longest piece of a wrong name or value that is repeated in an error. */
const SHOWN = 60;

/** In file and queue names; a comma would come from an option that is given twice. */
const PLAIN_NAME = /^[\p{L}\p{N}._@+-]{1,64}$/u;
const plainName = (): OptionKind<string> =>
  text('', 'up to 64 letters, digits and characters of . _ @ + -', (value) => PLAIN_NAME.test(value));

const OPTIONS = {
  amqp_durable_queues: flag(false),
  amqp_auto_delete: flag(false),
  ssl: flag(false),
  ssl_version: text('', 'TLSv1_2, TLSv1_3, or left out for both: others are not safe', (value) =>
    /^tlsv1_[23]$/i.test(value),
  ),
  ssl_key_file: text('', 'the path of a file'),
  ssl_cert_file: text('', 'the path of a file'),
  ssl_ca_file: text('', 'the path of a file'),
  ssl_enforce_hostname_verification: flag(true),
  kombu_reconnect_delay: decimal(1, [0, 4.5]),
  kombu_reconnect_splay: decimal(0, [0, DAY_S]),
  kombu_compression: text(
    '',
    `${COMPRESSION_NAMES.join(' or ')}: others cannot be made, or not be read by every receiver`,
    (value) => COMPRESSION_NAMES.includes(value),
  ),
  kombu_missing_consumer_retry_timeout: whole(60, [0, DAY_S]),
  kombu_failover_strategy: choice('round-robin', ['round-robin', 'shuffle']),
  rabbit_login_method: choice('AMQPLAIN', ['AMQPLAIN', 'PLAIN', 'EXTERNAL']),
  rabbit_retry_interval: whole(1, [1, DAY_S]),
  rabbit_retry_backoff: whole(2, [0, DAY_S]),
  rabbit_interval_max: whole(30, [1, DAY_S]),
  rabbit_ha_queues: flag(false),
  rabbit_quorum_queue: flag(false),
  rabbit_transient_quorum_queue: flag(false),
  rabbit_quorum_delivery_limit: whole(0, [-1, INT]),
  rabbit_quorum_max_memory_length: whole(0, [0, INT]),
  rabbit_quorum_max_memory_bytes: whole(0, [0, Number.MAX_SAFE_INTEGER]),
  rabbit_transient_queues_ttl: whole(1800, [0, MOST_TTL_S]),
  rabbit_stream_fanout: flag(false),
  rabbit_qos_prefetch_count: whole(0, [0, SHORT]),
  heartbeat_timeout_threshold: whole(60, [0, SHORT]),
  direct_mandatory_flag: flag(true),
  enable_cancel_on_failover: flag(false),
  use_queue_manager: flag(false),
  hostname: plainName(),
  processname: plainName(),
  connect_timeout: decimal(10, [0.1, 3600]),
  acceptance: choice('written', ['written', 'confirmed']),
  host_order: choice('shuffled', ['shuffled', 'given']),
  max_message_bytes: whole(134_217_728, [1, 536_870_912]),
} satisfies { readonly [Name in keyof RabbitOptions]-?: OptionKind<unknown> };

/** All options, complete. Texts that were not given are empty. */
export type OptionValues = Readonly<Required<RabbitOptions>>;

/** What was read, and which of it was said by somebody rather than taken from the defaults. */
export interface ReadOptions {
  readonly values: OptionValues;
  readonly given: ReadonlySet<keyof RabbitOptions>;
}

const NAMES: readonly string[] = Object.keys(OPTIONS);
const isKnown = (name: string): name is keyof RabbitOptions => Object.hasOwn(OPTIONS, name);

/**
 * Reads the options of the constructor and those of the URL, which win.
 *
 * @throws ConfigurationError (`ERR_CONFIGURATION`) with the option, its value and what would be right; for an unknown
 *   one with those of a like name; for one that means nothing here with the reason.
 */
export function readOptions(options: RabbitOptions, query: ReadonlyMap<string, string>): ReadOptions {
  const given = new Map([
    ...checked(Object.entries(options), (kind, value) => kind.fromValue(value)),
    // Only texts are in a query.
    ...checked(query, (kind, value) => kind.fromText(value as string)),
  ]);
  const values = Object.fromEntries(
    Object.entries(OPTIONS).map(([name, kind]) => [
      name,
      given.get(name as keyof RabbitOptions) ?? kind.fallback,
    ]),
  );
  // Each value has been read by the kind of its name, which the table ties to the interface.
  return { values: Object.freeze(values) as unknown as OptionValues, given: new Set(given.keys()) };
}

function checked(
  entries: Iterable<readonly [string, unknown]>,
  read: (kind: OptionKind<unknown>, value: unknown) => unknown,
): Map<keyof RabbitOptions, unknown> {
  const found = new Map<keyof RabbitOptions, unknown>();
  for (const [written, value] of entries) {
    if (value === undefined) continue;
    const name = checkName(written);
    if (found.has(name)) throw new ConfigurationError(`${name} is given twice, in two spellings`);
    const kind = OPTIONS[name];
    const result = read(kind, value);
    if (result === undefined)
      throw new ConfigurationError(`${written} is ${show(value)}; it must be ${kind.wanted}`);
    if (result !== '') found.set(name, result);
  }
  return found;
}

function checkName(written: string): keyof RabbitOptions {
  const name = rightName(written);
  if (isKnown(name)) return name;
  const reason = refusalOf(written);
  if (reason !== undefined) throw new ConfigurationError(`${written} cannot be set: ${reason}`);
  const near = nearNames(written, NAMES);
  const hint =
    near.length > 0 ? `did you mean ${near.join(' or ')}?` : `there are ${NAMES.toSorted().join(', ')}`;
  throw new ConfigurationError(`The RabbitMQ driver has no option ${show(written)}; ${hint}`);
}

/** Only names, and values of known options, which are no secrets. */
function show(value: unknown): string {
  if (typeof value === 'string')
    return JSON.stringify(value.length > SHOWN ? `${value.slice(0, SHOWN)}…` : value);
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : `of type ${typeof value}`;
}

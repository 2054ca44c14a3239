const NO_POOL =
  'there is no pool of connections: a transport has two, one that publishes and one that consumes, whatever the load';
const renamed = (name: string): string => `its name is ${name} now`;

/**
 * Options of oslo.messaging's rabbit driver that mean nothing here, each with the reason. A setting that did nothing
 * would be worse than an error (CORE-09).
 */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ['rpc_conn_pool_size', NO_POOL],
  ['conn_pool_min_size', NO_POOL],
  ['conn_pool_ttl', NO_POOL],
  [
    'heartbeat_rate',
    'the pace is fixed: a heartbeat is sent at each third of the negotiated interval, and two silent intervals are a lost connection; set heartbeat_timeout_threshold instead',
  ],
  ['heartbeat_in_pthread', 'Node has neither eventlet nor a second thread for heartbeats'],
  [
    'ssl_enforce_fips_mode',
    'FIPS mode belongs to the whole process; start it with node --enable-fips or --force-fips instead',
  ],
  ['rabbit_use_ssl', renamed('ssl')],
  ['kombu_ssl_version', renamed('ssl_version')],
  ['kombu_ssl_keyfile', renamed('ssl_key_file')],
  ['kombu_ssl_certfile', renamed('ssl_cert_file')],
  ['kombu_ssl_ca_certs', renamed('ssl_ca_file')],
  ['kombu_reconnect_timeout', renamed('kombu_missing_consumer_retry_timeout')],
]);

/** Spelt so by oslo.messaging up to 16, which knows them by no other name; so they are taken too. */
const SPELLINGS: ReadonlyMap<string, string> = new Map([
  ['rabbit_quroum_max_memory_length', 'rabbit_quorum_max_memory_length'],
  ['rabbit_quroum_max_memory_bytes', 'rabbit_quorum_max_memory_bytes'],
]);

/** Why the option is refused, if it is. */
export function refusalOf(name: string): string | undefined {
  return REFUSED.get(name);
}

/** The name as we know it. */
export function rightName(name: string): string {
  return SPELLINGS.get(name) ?? name;
}

/** The few of the known names that somebody who wrote `name` may have meant, the nearest first. */
export function nearNames(name: string, known: readonly string[]): string[] {
  const most = Math.max(2, Math.floor(name.length / 3));
  return known
    .map((one) => ({ one, far: distance(name, one) }))
    .filter(({ one, far }) => far <= most || one.includes(name))
    .sort((a, b) => a.far - b.far)
    .slice(0, 3)
    .map(({ one }) => one);
}

/** Letters to insert, delete or replace to make one of the other. Both are short. */
function distance(a: string, b: string): number {
  let before = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [row, letter] of Array.from(a).entries()) {
    const now = [row + 1];
    for (let column = 0; column < b.length; column += 1) {
      const replaced = (before[column] ?? 0) + (letter === b[column] ? 0 : 1);
      now.push(Math.min(replaced, (before[column + 1] ?? 0) + 1, (now[column] ?? 0) + 1));
    }
    before = now;
  }
  return before[b.length] ?? 0;
}

// What is known of the cloud, from the stream of events.

const KINDS = ['hosts', 'instances', 'migrations'];

const { compare: byName } = new Intl.Collator('en', { numeric: true });

/** Hosts, instances and moves by id, as they were told last. */
export class Cloud {
  hosts = new Map();
  instances = new Map();
  migrations = new Map();

  /** Takes all there is in place of what was known. */
  replace(state) {
    for (const kind of KINDS) this[kind] = new Map(state[kind].map((record) => [record.id, record]));
  }

  /** Takes what has changed. */
  change({ gone = {}, ...changed }) {
    for (const kind of KINDS) {
      for (const record of changed[kind] ?? []) this[kind].set(record.id, record);
      for (const id of gone[kind] ?? []) this[kind].delete(id);
    }
  }

  /** By name. */
  get hostList() {
    return [...this.hosts.values()].sort((one, other) => byName(one.host, other.host));
  }

  /** By name. */
  get instanceList() {
    return [...this.instances.values()].sort((one, other) => byName(one.name, other.name));
  }

  /** What moves, each with the name of its instance. */
  get moveList() {
    return [...this.migrations.values()].map((move) => ({ ...move, name: this.nameOf(move.instance) }));
  }

  nameOf(instance) {
    return this.instances.get(instance)?.name ?? instance;
  }
}

/** Is it over? */
export function isOver({ status }) {
  return ['completed', 'confirmed', 'reverted', 'done', 'error', 'failed', 'cancelled'].includes(status);
}

/**
 * Listens. The browser comes again by itself when the connection is cut; `onRefused` is told when it does not, as it was
 * refused.
 */
export function listen(cloud, { onNews, onUnreachable, onLost, onRefused }) {
  const source = new EventSource('page/events');
  const on = (name, act) => source.addEventListener(name, ({ data }) => act(JSON.parse(data)));
  on('state', (state) => {
    cloud.replace(state);
    onNews(undefined);
  });
  on('change', (change) => {
    const before = { hosts: new Map(cloud.hosts), migrations: new Map(cloud.migrations) };
    cloud.change(change);
    onNews({ before, change });
  });
  on('unreachable', onUnreachable);
  source.addEventListener('error', () => {
    if (source.readyState === EventSource.CLOSED) onRefused();
    else onLost();
  });
  return () => source.close();
}

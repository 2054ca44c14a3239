import { RIG, type RedisProcess } from './redis-process.js';

/** A connection as CLIENT LIST tells of it. */
export interface RedisClientInfo {
  readonly id: number;
  readonly name: string;
  /** The command that is under way, or was last. */
  readonly cmd: string;
  /** It waits in a blocking command. */
  readonly blocked: boolean;
}

/** A consumer group of a stream. */
export interface RedisGroup {
  readonly name: string;
  readonly consumers: number;
  /** Handed out and not acknowledged. */
  readonly pending: number;
}

/** What is in a server, and what it has done. */
export class RedisView {
  readonly #server: RedisProcess;

  constructor(server: RedisProcess) {
    this.#server = server;
  }

  /** All keys, sorted. */
  async keys(): Promise<string[]> {
    return ((await this.#server.ask('KEYS', '*')) as string[]).sort();
  }

  /** The streams among them. */
  async streams(): Promise<string[]> {
    return this.#ofType('stream');
  }

  /** Milliseconds until each key is removed; -1: never. */
  async expiries(): Promise<ReadonlyMap<string, number>> {
    const expiries = new Map<string, number>();
    for (const key of await this.keys()) expiries.set(key, Number(await this.#server.ask('PTTL', key)));
    return expiries;
  }

  /** The entries of a stream. */
  async entries(stream: string): Promise<number> {
    return Number(await this.#server.ask('XLEN', stream));
  }

  /** All entries of all streams. */
  async allEntries(): Promise<number> {
    const counts = await Promise.all((await this.streams()).map((stream) => this.entries(stream)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  async groups(stream: string): Promise<RedisGroup[]> {
    const groups = (await this.#server.ask('XINFO', 'GROUPS', stream)) as (string | number)[][];
    return groups.map((fields) => ({
      name: String(valueOf(fields, 'name')),
      consumers: Number(valueOf(fields, 'consumers')),
      pending: Number(valueOf(fields, 'pending')),
    }));
  }

  /** What is handed out and not acknowledged, of all groups of all streams. */
  async pending(): Promise<number> {
    const groups = await Promise.all((await this.streams()).map((stream) => this.groups(stream)));
    return groups.flat().reduce((sum, { pending }) => sum + pending, 0);
  }

  /** All consumers of all groups. */
  async consumers(): Promise<number> {
    const groups = await Promise.all((await this.streams()).map((stream) => this.groups(stream)));
    return groups.flat().reduce((sum, { consumers }) => sum + consumers, 0);
  }

  /** The connections, but that of the rig. */
  async clients(): Promise<RedisClientInfo[]> {
    const lines = String(await this.#server.ask('CLIENT', 'LIST'))
      .trim()
      .split('\n');
    return lines
      .map((line) => new Map(line.split(' ').map((part) => part.split(/=(.*)/, 2) as [string, string])))
      .filter((fields) => fields.get('name') !== RIG)
      .map((fields) => ({
        id: Number(fields.get('id')),
        name: fields.get('name') ?? '',
        cmd: fields.get('cmd') ?? '',
        blocked: fields.get('flags')?.includes('b') === true,
      }));
  }

  /** Ends a connection from the side of the server. */
  async killClient(id: number): Promise<void> {
    await this.#server.ask('CLIENT', 'KILL', 'ID', id);
  }

  /** How often each command was called since {@link resetCalls}, those of scripts included, by the name in small letters. */
  async calls(): Promise<ReadonlyMap<string, number>> {
    const stats = await this.#server.info('commandstats');
    const count = (text: string): number => Number(/calls=(\d+)/.exec(text)?.[1] ?? 0);
    return new Map([...stats].map(([name, text]) => [name.replace(/^cmdstat_/, ''), count(text)]));
  }

  /** How many commands clients have sent since {@link resetCalls}. */
  async commandsProcessed(): Promise<number> {
    return Number((await this.#server.info('stats')).get('total_commands_processed'));
  }

  async resetCalls(): Promise<void> {
    await this.#server.ask('CONFIG', 'RESETSTAT');
  }

  async #ofType(type: string): Promise<string[]> {
    const found: string[] = [];
    for (const key of await this.keys()) if ((await this.#server.ask('TYPE', key)) === type) found.push(key);
    return found;
  }
}

function valueOf(fields: readonly (string | number)[], name: string): string | number | undefined {
  return fields[fields.indexOf(name) + 1];
}

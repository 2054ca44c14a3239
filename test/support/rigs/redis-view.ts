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

  /** The queues that were declared and are there, by the keys of their lists. */
  async queues(): Promise<string[]> {
    const queues: string[] = [];
    for (const key of await this.#ofType('set')) {
      const members = (await this.#server.ask('SMEMBERS', key)) as string[]; // texts, as Redis documents it
      queues.push(...members.map((member) => key.replace(/declared$/, member)));
    }
    return queues.sort();
  }

  /** Milliseconds until each key is removed; -1: never. */
  async expiries(): Promise<ReadonlyMap<string, number>> {
    const expiries = new Map<string, number>();
    for (const key of await this.keys()) expiries.set(key, Number(await this.#server.ask('PTTL', key)));
    return expiries;
  }

  /** The entries of all queues: what waits, and what is held. */
  async allEntries(): Promise<number> {
    const lists = (await this.#ofType('list')).filter((key) => !key.endsWith(':bell'));
    return (await this.#sum('LLEN', lists)) + (await this.pending());
  }

  /** What was fetched and not settled. */
  async pending(): Promise<number> {
    return this.#sum(
      'HLEN',
      (await this.keys()).filter((key) => key.includes(':held:')),
    );
  }

  /** All consumers that have a lease. */
  async consumers(): Promise<number> {
    return this.#sum(
      'ZCARD',
      (await this.keys()).filter((key) => key.endsWith(':leases')),
    );
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

  async #sum(command: string, keys: readonly string[]): Promise<number> {
    let sum = 0;
    for (const key of keys) sum += Number(await this.#server.ask(command, key));
    return sum;
  }

  async #ofType(type: string): Promise<string[]> {
    const found: string[] = [];
    for (const key of await this.keys()) if ((await this.#server.ask('TYPE', key)) === type) found.push(key);
    return found;
  }
}

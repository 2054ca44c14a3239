import { erlCall, erlangText } from './erl-call.js';
import type {
  BindingInfo,
  ChannelInfo,
  ConnectionInfo,
  ConsumerInfo,
  ExchangeInfo,
  QueueInfo,
  QuorumInfo,
} from './rabbit-objects.js';
import type { RabbitSettings } from './rabbit-settings.js';

const QUEUE_ITEMS =
  'name,type,durable,auto_delete,exclusive,arguments,messages,messages_ready,messages_unacknowledged,consumers';
const CONNECTION_ITEMS = 'pid,name,user,vhost,state,channels,peer_port,client_properties';
const CHANNEL_ITEMS = 'pid,connection,number,confirm,consumer_count,messages_unacknowledged,prefetch_count';

/** An empty property list does not show that it is none. */
function withTables(row: Record<string, unknown>): Record<string, unknown> {
  const tables = Object.entries(row)
    .filter(([key]) => key === 'arguments' || key === 'client_properties')
    .map(([key, value]) => [key, Array.isArray(value) && value.length === 0 ? {} : value] as const);
  return { ...row, ...Object.fromEntries(tables) };
}

/** What is in a node, and the few things that tests change in it behind a client's back. Each takes milliseconds. */
export class RabbitView {
  readonly #settings: RabbitSettings;

  constructor(settings: RabbitSettings) {
    this.#settings = settings;
  }

  /** Evaluates Erlang in the node; gives the value as JSON would have it. */
  evaluate(expression: string): Promise<unknown> {
    return erlCall(this.#settings, expression);
  }

  /** Writes to the disk what was declared, which RabbitMQ otherwise does some time after its answer. */
  async storeObjects(): Promise<void> {
    await this.evaluate('ok = mnesia:sync_log()');
  }

  async addVhost(vhost: string): Promise<void> {
    const actor = erlangText(this.#settings.user);
    await this.evaluate(`ok = rabbit_vhost:add(${erlangText(vhost)}, ${actor})`);
    await this.permit(this.#settings.user, vhost);
  }

  async deleteVhost(vhost: string): Promise<void> {
    await this.evaluate(`rabbit_vhost:delete(${erlangText(vhost)}, ${erlangText(this.#settings.user)})`);
  }

  async addUser(name: string, password: string): Promise<void> {
    const actor = erlangText(this.#settings.user);
    const args = [erlangText(name), erlangText(password), actor].join(', ');
    await this.evaluate(`ok = rabbit_auth_backend_internal:add_user(${args})`);
  }

  /** Sets the patterns of the names that a user may configure, write and read in a virtual host. */
  async permit(user: string, vhost: string, configure = '.*', write = '.*', read = '.*'): Promise<void> {
    const args = [user, vhost, configure, write, read, this.#settings.user].map(erlangText).join(', ');
    await this.evaluate(`ok = rabbit_auth_backend_internal:set_permissions(${args})`);
  }

  queues(vhost: string): Promise<QueueInfo[]> {
    return this.#rows(`rabbit_amqqueue:info_all(${erlangText(vhost)}, [${QUEUE_ITEMS}])`);
  }

  /** Of the quorum queues: the nodes that have a member, and those of them that are there. */
  members(vhost: string): Promise<QuorumInfo[]> {
    return this.#rows(
      `[Info || Info <- rabbit_amqqueue:info_all(${erlangText(vhost)}, [name, type, members, online]),
        proplists:get_value(type, Info) =:= quorum]`,
    );
  }

  /** The exchanges that were declared, `amq.*` and the default one left out. */
  async exchanges(vhost: string): Promise<ExchangeInfo[]> {
    const items = 'name,type,durable,auto_delete,internal,arguments';
    const all = await this.#rows<ExchangeInfo>(`rabbit_exchange:info_all(${erlangText(vhost)}, [${items}])`);
    return all.filter(({ name }) => name !== '' && !name.startsWith('amq.'));
  }

  /** The bindings that were declared, those of the default exchange left out. */
  async bindings(vhost: string): Promise<BindingInfo[]> {
    const all = await this.#rows<BindingInfo>(`rabbit_binding:info_all(${erlangText(vhost)})`);
    return all.filter(({ source_name }) => source_name !== '');
  }

  consumers(vhost: string): Promise<ConsumerInfo[]> {
    return this.#rows(`rabbit_amqqueue:consumers_all(${erlangText(vhost)})`);
  }

  async connections(vhost: string): Promise<ConnectionInfo[]> {
    const all = await this.#rows<ConnectionInfo>(
      `rabbit_networking:connection_info_all([${CONNECTION_ITEMS}])`,
    );
    return all.filter((one) => one.vhost === vhost);
  }

  channels(vhost: string): Promise<ChannelInfo[]> {
    return this.#rows(
      `[Info || Info <- rabbit_channel:info_all([vhost,${CHANNEL_ITEMS}]),
        proplists:get_value(vhost, Info) =:= ${erlangText(vhost)}]`,
    );
  }

  /** Deletes a queue, if it is there, with the effects that has on its consumers. */
  async deleteQueue(vhost: string, queue: string): Promise<void> {
    const name = `rabbit_misc:r(${erlangText(vhost)}, queue, ${erlangText(queue)})`;
    await this.evaluate(`try
      {ok, Queue} = rabbit_amqqueue:lookup(${name}),
      {ok, _} = rabbit_amqqueue:delete(Queue, false, false, <<"rig">>), ok
      catch error:{badmatch, {error, not_found}} -> ok; exit:{normal, _} -> ok; exit:{noproc, _} -> ok end`);
  }

  async deleteExchange(vhost: string, exchange: string): Promise<void> {
    await this.evaluate(
      `ok = rabbit_exchange:delete(rabbit_misc:r(${erlangText(vhost)}, exchange, ${erlangText(exchange)}), false, <<"rig">>)`,
    );
  }

  /** Closes a connection as an operator does: the client gets `connection.close` 320 with this text. */
  async closeConnection(pid: string, text = 'closed by the test'): Promise<void> {
    await this.evaluate(
      `ok = rabbit_networking:close_connection(rabbit_misc:string_to_pid(${JSON.stringify(pid)}), ${JSON.stringify(text)})`,
    );
  }

  /** Closes all connections of a virtual host; gives their number. */
  async closeConnections(vhost: string, text?: string): Promise<number> {
    const all = await this.connections(vhost);
    for (const { pid } of all) await this.closeConnection(pid, text);
    return all.length;
  }

  async #rows<Row>(expression: string): Promise<Row[]> {
    const rows = (await this.evaluate(expression)) as Record<string, unknown>[]; // as the broker's info lists are
    return rows.map((row) => withTables(row) as Row); // the items asked for are those of the interface
  }
}

import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import rhea, {
  type Connection,
  type ConnectionOptions,
  type Container,
  type Delivery,
  type EventContext,
  type Message,
  type Receiver,
  type Sender,
} from 'rhea';

/** Which broker it plays. */
export interface PeerOptions {
  /** `rabbitmq-4`: its addresses, its outcomes, and a RabbitMQ behind it for AMQP 0-9-1. */
  readonly plays: 'plain' | 'rabbitmq-4';
  /** Where what speaks AMQP 0-9-1 is passed on to. */
  readonly port091?: number;
  /** Credit for each sender; default 100. */
  readonly credit?: number;
  /** The time without a frame after which we are dead, in milliseconds. */
  readonly idleTimeOutMs?: number;
  /** What a fanout has for a receiver that was cut off waits for the next one; else it is lost. */
  readonly keepsFanouts?: boolean;
  /** Whether these may log in; by default all may. */
  readonly admits?: (user: string, password: string) => boolean;
}

/** What becomes of the next messages; `hold` settles nothing. */
export type Outcome = 'accept' | 'release' | 'modify' | 'modify-undeliverable' | 'reject' | 'settle' | 'hold';

/** A message in a node; as bytes, where it is none that rhea could write. */
interface Stored {
  readonly message: Message | Buffer;
  readonly isAgain: boolean;
}

/** What one node has, and who receives from it. */
class PeerNode {
  readonly waiting: Stored[] = [];
  readonly senders = new Set<Sender>();
}

/** A message that somebody has and has not settled. */
interface Parted {
  readonly node: PeerNode;
  readonly stored: Stored;
  readonly sender: Sender;
}

/** An AMQP 1.0 broker in this process: nodes that are queues, and fanouts; with the odd ways that a test asks for. */
export class Amqp10Peer {
  readonly port: number;
  /** Outcomes of the messages to come, each once; then all are accepted. */
  readonly outcomes: Outcome[] = [];
  /** Every message that came, in order, with the address of its link. */
  readonly received: { readonly address: string; readonly message: Message }[] = [];
  /** Addresses at which an attach is refused as not found. */
  readonly missing = new Set<string>();
  /** The addresses of all attaches, in order. */
  readonly attached: string[] = [];
  /** The hostname of each open. */
  readonly hostNames: (string | undefined)[] = [];
  /** The error of each link that we have begun and they have ended. */
  readonly refused: unknown[] = [];
  /** How many messages they have rejected. */
  rejected = 0;
  /** The next attach of a receiver is answered as if we received, too. */
  confusesRoles = false;
  credit: number;
  readonly #options: PeerOptions;
  readonly #server: Server;
  readonly #container: Container;
  readonly #connections = new Set<Connection>();
  readonly #sockets = new Set<Socket>();
  readonly #receivers = new Set<Receiver>();
  readonly #nodes = new Map<string, PeerNode>();
  readonly #parted = new Map<Delivery, Parted>();
  /** Links that were ended by us. */
  readonly #forced = new WeakSet<Sender>();
  #made = 0;

  private constructor(server: Server, options: PeerOptions) {
    this.#server = server;
    this.#options = options;
    this.port = (server.address() as { port: number }).port; // it listens on TCP
    this.credit = options.credit ?? 100;
    this.#container = this.#newContainer();
    server.on('connection', (socket: Socket) => {
      this.#onSocket(socket);
    });
  }

  static async start(options: PeerOptions): Promise<Amqp10Peer> {
    const server = createServer({ noDelay: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Amqp10Peer(server, options);
  }

  url(query = ''): string {
    return `amqp10://guest:guest@127.0.0.1:${String(this.port)}/?${query}`;
  }

  /** How many connections there are. */
  get connections(): number {
    return this.#connections.size;
  }

  /** How much they have and have not settled. */
  get unsettled(): number {
    return this.#parted.size;
  }

  /** What waits in a node. */
  depth(address: string): number {
    return this.#nodes.get(address)?.waiting.length ?? 0;
  }

  /** Those who receive from the nodes whose address contains the text, with the credit that they have given. */
  consumers(part: string): { readonly address: string; readonly credit: number }[] {
    return [...this.#nodes].flatMap(([address, { senders }]) =>
      address.includes(part) && !isCopy(address)
        ? [...senders].map((sender) => ({
            address,
            credit: (sender as unknown as { credit: number }).credit, // rhea keeps it there
          }))
        : [],
    );
  }

  /** Ends each receiving link of us whose address contains the text, as an operator does. */
  detachForced(part: string): number {
    let count = 0;
    for (const [address, { senders }] of this.#nodes)
      for (const sender of address.includes(part) && !isCopy(address) ? senders : []) {
        this.#forced.add(sender);
        sender.close({ condition: 'amqp:link:detach-forced', description: 'by the test' });
        count += 1;
      }
    return count;
  }

  /** Ends the sessions of those links. */
  endSessions(part: string): void {
    for (const [address, { senders }] of this.#nodes)
      for (const sender of address.includes(part) && !isCopy(address) ? senders : [])
        sender.session.end({ condition: 'amqp:session:errant-link', description: 'by the test' });
  }

  /** Ends each connection in order, with the error of an operator's close. */
  closeForced(): void {
    for (const connection of this.#connections)
      connection.close({ condition: 'amqp:connection:forced', description: 'by the test' });
  }

  /** Gives more credit to every link that sends to us. */
  grant(credit: number): void {
    for (const receiver of this.#receivers) receiver.add_credit(credit);
  }

  /** Puts bytes into a node, as a message that nobody has checked. */
  store(address: string, ...messages: readonly Buffer[]): void {
    this.#node(address).waiting.push(...messages.map((message) => ({ message, isAgain: false })));
    this.#deliverAll();
  }

  /** Sends so many messages more than they have given credit for. */
  overrun(address: string, messages: readonly Buffer[]): void {
    for (const sender of this.#node(address).senders)
      (sender as unknown as { credit: number }).credit += messages.length; // rhea keeps it there
    this.store(address, ...messages);
  }

  /** Begins a link that nobody has asked for, on every connection. */
  intrude(): void {
    for (const connection of this.#connections) {
      const sender = connection.open_sender({ target: { address: 'for you' } });
      sender.on('sender_open', () => undefined); // it is no receiver of ours
      sender.on('sender_error', () => this.refused.push((sender.error as { condition?: unknown }).condition)); // of rhea
    }
  }

  async close(): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy(new Error('closed'));
    await once(this.#server, 'close');
  }

  #newContainer(): Container {
    const container = rhea.create_container({ id: 'peer' });
    const mechanisms = rhea.sasl.server_mechanisms() as unknown as Record<
      string,
      (check?: (user: string, password: string) => boolean) => void
    >; // its types leave the argument out
    mechanisms['enable_plain']?.(this.#options.admits ?? (() => true));
    mechanisms['enable_anonymous']?.();
    container.sasl_server_mechanisms = mechanisms;
    for (const event of ['error', 'protocol_error', 'connection_error', 'session_error', 'sender_error'])
      container.on(event, () => undefined);
    container.on('receiver_error', () => undefined);
    container.on('connection_open', ({ connection }: EventContext) => {
      this.#connections.add(connection);
      this.hostNames.push(connection.hostname);
    });
    for (const event of ['disconnected', 'connection_close'])
      container.on(event, ({ connection }: EventContext) => {
        this.#connections.delete(connection);
        this.#leaveAll((sender) => sender.connection === connection);
      });
    container.on('session_close', ({ session }: EventContext) => {
      this.#leaveAll((sender) => sender.session === session);
    });
    container.on('sender_close', ({ sender: closed }: EventContext) => {
      this.#leaveAll((sender) => sender === closed, closed !== undefined && !this.#forced.has(closed));
    });
    container.on('receiver_open', ({ receiver }: EventContext) => {
      if (receiver) this.#onTheirSender(receiver);
    });
    container.on('sender_open', ({ sender }: EventContext) => {
      if (sender) this.#onTheirReceiver(sender);
    });
    container.on('message', (context: EventContext) => {
      this.#onMessage(context);
    });
    container.on('sendable', () => {
      this.#deliverAll();
    });
    container.on('sender_draining', ({ sender }: EventContext) => {
      this.#deliverAll();
      sender?.set_drained(true);
    });
    for (const event of ['released', 'modified'])
      container.on(event, ({ delivery }: EventContext) => {
        if (delivery) this.#onGivenBack(delivery);
      });
    container.on('rejected', () => (this.rejected += 1));
    container.on('settled', ({ delivery }: EventContext) => {
      if (delivery) this.#parted.delete(delivery);
    });
    return container;
  }

  /** The first eight bytes say which protocol it is. */
  #onSocket(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => this.#sockets.delete(socket));
    socket.once('data', (head: Buffer) => {
      socket.pause();
      socket.unshift(head);
      if (head.subarray(0, 5).toString('latin1') === 'AMQP\0' && head[6] === 9) this.#passOn(socket);
      else this.#accept(socket);
      socket.resume();
    });
  }

  #passOn(socket: Socket): void {
    const onward = connect({ port: this.#options.port091 ?? 0, host: '127.0.0.1', noDelay: true });
    this.#sockets.add(onward);
    onward.on('error', () => socket.destroy());
    onward.once('close', () => {
      this.#sockets.delete(onward);
      socket.destroy();
    });
    socket.once('close', () => onward.destroy());
    socket.pipe(onward).pipe(socket);
  }

  #accept(socket: Socket): void {
    const isRabbit = this.#options.plays === 'rabbitmq-4';
    const connection = this.#container.create_connection({
      properties: isRabbit ? { product: 'RabbitMQ', version: '4.1.0' } : { product: 'peer' },
      ...{ receiver_options: { credit_window: 0, autoaccept: false } },
      ...{ sender_options: { treat_modified_as_released: false } },
      ...(this.#options.idleTimeOutMs !== undefined && { idle_time_out: this.#options.idleTimeOutMs }),
      // So much may be unsettled before it is the peer that stops.
      session_buffer_size: 10_000,
      reconnect: false,
    } as unknown as ConnectionOptions); // of a connection that is accepted, not made
    (connection as unknown as { accept(socket: Socket): void }).accept(socket); // as rhea's own server does
  }

  #node(address: string): PeerNode {
    const node = this.#nodes.get(address) ?? new PeerNode();
    this.#nodes.set(address, node);
    return node;
  }

  /** RabbitMQ 4 has its queues declared over AMQP 0-9-1: they are there once somebody receives from them. */
  #isThere(address: string): boolean {
    if (this.missing.has(address)) return false;
    if (this.#options.plays === 'plain') return true;
    return address.startsWith('/exchanges/') || this.#nodes.has(address);
  }

  #onTheirSender(receiver: Receiver): void {
    const address = receiver.target.address;
    this.attached.push(address);
    if (!this.#isThere(address)) {
      receiver.close({ condition: 'amqp:not-found', description: `no node ${address}` });
      return;
    }
    receiver.set_target({ address });
    this.#receivers.add(receiver);
    receiver.on('receiver_close', () => this.#receivers.delete(receiver));
    if (this.credit > 0) receiver.add_credit(this.credit);
  }

  #onTheirReceiver(sender: Sender): void {
    const { source } = sender;
    this.#made += 1;
    const address = source.dynamic ? `dynamic-${String(this.#made)}` : source.address;
    this.attached.push(address);
    if (this.missing.has(address)) {
      sender.close({ condition: 'amqp:not-found', description: `no node ${address}` });
      return;
    }
    sender.set_source({ address });
    if (this.confusesRoles) {
      this.confusesRoles = false;
      (sender as unknown as { local: { attach: { role: boolean } } }).local.attach.role = true; // rhea keeps it there
    }
    this.#node(address).senders.add(sender);
    if (address.startsWith('fanout/')) this.#join(address, sender);
  }

  /** Each who receives from a fanout has what is for it in a node of its own. */
  #join(address: string, sender: Sender): void {
    const left = this.#copiesOf(address).find(({ senders }) => senders.size === 0);
    const own = left ?? this.#node(`${address}#${sender.name}`);
    own.senders.add(sender);
  }

  /** What they have not settled goes back, in order. */
  #leaveAll(isGone: (sender: Sender) => boolean, isForGood = false): void {
    const isKept = this.#options.keepsFanouts === true && !isForGood;
    for (const [name, { senders }] of this.#nodes)
      for (const sender of senders) {
        if (!isGone(sender)) continue;
        senders.delete(sender);
        if (isCopy(name) && !isKept) this.#nodes.delete(name);
      }
    // rhea tells what was settled by the frames before only in its next tick.
    setImmediate(() => {
      const back = [...this.#parted].filter(([, { sender }]) => isGone(sender)).reverse();
      for (const [delivery] of back) this.#onGivenBack(delivery);
    });
  }

  #onMessage({ message, delivery, receiver }: EventContext): void {
    if (!message || !delivery || !receiver) return;
    const address = receiver.target.address;
    this.received.push({ address, message });
    receiver.add_credit(this.credit > 0 ? 1 : 0);
    const outcome = this.outcomes.shift() ?? 'accept';
    if (outcome === 'accept') {
      const isTaken = this.#route(address, { message, isAgain: false });
      if (isTaken) delivery.accept();
      else delivery.release();
    } else if (outcome === 'release') delivery.release();
    else if (outcome === 'modify') delivery.modified({ delivery_failed: true });
    else if (outcome === 'modify-undeliverable') delivery.modified({ undeliverable_here: true });
    else if (outcome === 'reject')
      delivery.reject({ condition: 'amqp:precondition-failed', description: 'too red' });
    else if (outcome === 'settle') delivery.update(true);
  }

  /** False: RabbitMQ 4 knows no queue for it. */
  #route(address: string, stored: Stored): boolean {
    const nodes = this.#targets(address);
    for (const node of nodes) node.waiting.push(stored);
    setImmediate(() => {
      this.#deliverAll();
    });
    return nodes.length > 0 || this.#options.plays === 'plain' || address.endsWith('_fanout');
  }

  #targets(address: string): PeerNode[] {
    if (this.#options.plays === 'plain') {
      if (!address.startsWith('fanout/')) return [this.#node(address)];
      return this.#copiesOf(address);
    }
    const [, , exchange = '', key] = address.split('/');
    if (!address.startsWith('/exchanges/')) return this.#known(address);
    if (key !== undefined) return this.#known(`/queues/${key}`);
    const prefix = `/queues/${exchange}_`;
    return [...this.#nodes].filter(([name]) => name.startsWith(prefix)).map(([, node]) => node);
  }

  #known(address: string): PeerNode[] {
    const node = this.#nodes.get(address);
    return node ? [node] : [];
  }

  #copiesOf(address: string): PeerNode[] {
    return [...this.#nodes].filter(([name]) => name.startsWith(`${address}#`)).map(([, node]) => node);
  }

  #deliverAll(): void {
    for (const node of this.#nodes.values())
      for (const sender of node.senders) {
        while (node.waiting.length > 0 && sender.is_open() && hasCredit(sender)) {
          const stored = node.waiting.shift() as Stored; // there is one
          this.#parted.set(transfer(sender, stored), { node, stored, sender });
        }
      }
  }

  #onGivenBack(delivery: Delivery): void {
    const parted = this.#parted.get(delivery);
    if (!parted) return;
    this.#parted.delete(delivery);
    parted.node.waiting.unshift({ ...parted.stored, isAgain: true });
    setImmediate(() => {
      this.#deliverAll();
    });
  }
}

/** The name of a node that has copies for one receiver. */
function isCopy(name: string): boolean {
  return name.includes('#');
}

function transfer(sender: Sender, { message, isAgain }: Stored): Delivery {
  if (Buffer.isBuffer(message)) return sender.send(message, undefined, 0);
  return sender.send({ ...message, first_acquirer: !isAgain });
}

/** Of what was granted, as much as is not on its way. */
function hasCredit(sender: Sender): boolean {
  const { outgoing } = sender.session as unknown as {
    readonly outgoing: {
      readonly next_delivery_id: number;
      readonly next_pending_delivery: number;
    };
  }; // rhea keeps it there
  const queued = outgoing.next_delivery_id - outgoing.next_pending_delivery;
  return (sender as unknown as { credit: number }).credit - queued > 0;
}

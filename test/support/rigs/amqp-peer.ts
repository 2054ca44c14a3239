import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { type AmqpEvent, AmqpPeerConnection, type AmqpPeerSettings } from './amqp-peer-connection.js';

export { FRAME } from './amqp-frames.js';
export type { AmqpEvent, AmqpPeerConnection } from './amqp-peer-connection.js';

/** Answers an event in place of the peer; `connection.answer(event)` is what the peer would have done. */
export type AmqpScript = (event: AmqpEvent, connection: AmqpPeerConnection) => void | Promise<void>;

const SETTINGS: AmqpPeerSettings = {
  mechanisms: 'PLAIN AMQPLAIN',
  channelMax: 2047,
  frameMax: 131_072,
  heartbeat: 60,
  serverProperties: {
    product: 'RabbitMQ',
    version: '3.10.8',
    capabilities: {
      publisher_confirms: true,
      'basic.nack': true,
      consumer_cancel_notify: true,
      'connection.blocked': true,
      authentication_failure_close: true,
      per_consumer_qos: true,
    },
  },
};

/**
 * A broker made of obedience: it answers each method of AMQP 0-9-1 as if all were well, routes nothing, and notes what
 * it was sent. Scripts make it refuse, delay, be silent or talk nonsense.
 */
export class AmqpPeer {
  readonly port: number;
  /** All that was received, in order. */
  readonly events: AmqpEvent[] = [];
  readonly connections: AmqpPeerConnection[] = [];
  readonly #server: Server;
  readonly #settings: AmqpPeerSettings;
  readonly #scripts = new Map<string, AmqpScript>();
  readonly #taken = new Set<AmqpEvent>();
  readonly #waiting = new Set<() => void>();
  readonly #sockets = new Set<Socket>();
  /** What went wrong in the peer or a script; {@link close} throws the first. */
  readonly #failures: unknown[] = [];

  private constructor(server: Server, settings: AmqpPeerSettings) {
    this.#server = server;
    this.#settings = settings;
    this.port = (server.address() as AddressInfo).port; // it listens on TCP
    server.on('connection', (socket) => this.#accept(socket));
  }

  /** @param settings - what it offers in its start and tune */
  static async start(settings: Partial<AmqpPeerSettings> = {}): Promise<AmqpPeer> {
    const server = createServer({ noDelay: true }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new AmqpPeer(server, { ...SETTINGS, ...settings });
  }

  url(vhost = '/', scheme = 'rabbit'): string {
    return `${scheme}://guest:guest@127.0.0.1:${this.port}/${encodeURIComponent(vhost)}`;
  }

  /** Lets a script answer all events of this name from now on; the function returned ends that. */
  script(name: string, script: AmqpScript): () => void {
    this.#scripts.set(name, script);
    return () => {
      if (this.#scripts.get(name) === script) this.#scripts.delete(name);
    };
  }

  /** The same for the next event of this name only. */
  scriptOnce(name: string, script: AmqpScript): void {
    const end = this.script(name, (event, connection) => {
      end();
      return script(event, connection);
    });
  }

  /** All events of this name so far. */
  received(name: string): AmqpEvent[] {
    return this.events.filter((event) => event.name === name);
  }

  /** The first event of this name, so far or to come, that no earlier call has given. */
  async next(name: string, isIt: (event: AmqpEvent) => boolean = () => true): Promise<AmqpEvent> {
    for (;;) {
      const found = this.events.find(
        (event) => event.name === name && !this.#taken.has(event) && isIt(event),
      );
      if (found) {
        this.#taken.add(found);
        return found;
      }
      if (this.#failures.length > 0) throw this.#failures[0];
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /**
   * Ends it and all connections.
   *
   * @throws what a script threw, or what the client sent that is no AMQP
   */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    const number = this.connections.length + 1;
    const onEvent = (event: AmqpEvent): void => void this.#onEvent(event);
    this.connections.push(
      new AmqpPeerConnection(number, socket, this.#settings, onEvent, (error) => this.#fail(error)),
    );
  }

  async #onEvent(event: AmqpEvent): Promise<void> {
    this.events.push(event);
    this.#wake();
    try {
      const script = this.#scripts.get(event.name);
      if (script) await script(event, event.connection);
      else event.connection.answer(event);
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#failures.push(error);
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

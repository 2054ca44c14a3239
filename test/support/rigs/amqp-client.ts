import { connect, type Socket } from 'node:net';
import type { AmqpTable } from './amqp-fields.js';
import { type AmqpFrame, FRAME, frameBytes, FrameSplitter } from './amqp-frames.js';
import { contentHeaderBytes, methodBytes, readMethod } from './amqp-methods.js';

/** A method that the broker sent. */
export interface AmqpMethod {
  readonly channel: number;
  readonly name: string;
  readonly args: AmqpTable;
}

export interface AmqpLogin {
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly vhost: string;
  /** Seconds; none by default. This client sends none itself. */
  readonly heartbeat?: number;
}

const GREETING = Buffer.from('AMQP\x00\x00\x09\x01', 'latin1');

/** The least client that can open a connection and channels and send methods: to test the rigs, and to do what no library would. */
export class AmqpClient {
  /** Resolves when the socket is closed. */
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #splitter = new FrameSplitter();
  readonly #sizes: number[] = [];
  #heartbeats = 0;
  readonly #methods: AmqpMethod[] = [];
  readonly #lookers = new Set<() => void>();
  #over = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (bytes: Buffer) => {
      for (const frame of this.#splitter.take(bytes)) this.#onFrame(frame);
      this.#look();
    });
    socket.on('error', () => {}); // `closed` tells
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#over = true;
        this.#look();
        resolve();
      });
    });
  }

  /** Connects and logs in. Whatever the broker says instead of `connection.open-ok` is the rejection. */
  static async open(
    { port, user, password, vhost, heartbeat = 0 }: AmqpLogin,
    socket?: Socket,
  ): Promise<AmqpClient> {
    const client = new AmqpClient(socket ?? connect({ port, host: '127.0.0.1', noDelay: true }));
    client.#socket.write(GREETING);
    await client.next('connection.start');
    const capabilities = { authentication_failure_close: true, 'connection.blocked': true };
    const login = { mechanism: 'PLAIN', response: `\0${user}\0${password}`, locale: 'en_US' };
    client.send(0, 'connection.start-ok', { clientProperties: { capabilities }, ...login });
    const { args } = await client.next('connection.tune');
    client.send(0, 'connection.tune-ok', { ...args, heartbeat });
    client.send(0, 'connection.open', { virtualHost: vhost });
    await client.next('connection.open-ok');
    return client;
  }

  send(channel: number, name: string, args?: AmqpTable): void {
    this.#socket.write(frameBytes(FRAME.method, channel, methodBytes(name, args)));
  }

  publish(channel: number, args: AmqpTable, body: string, properties: AmqpTable = {}): void {
    const bytes = Buffer.from(body);
    this.#socket.write(
      Buffer.concat([
        frameBytes(FRAME.method, channel, methodBytes('basic.publish', args)),
        frameBytes(FRAME.header, channel, contentHeaderBytes(bytes.length, properties)),
        ...(bytes.length === 0 ? [] : [frameBytes(FRAME.body, channel, bytes)]),
      ]),
    );
  }

  /** Sends a method and resolves with the arguments of its `-ok`. */
  async ask(channel: number, name: string, args?: AmqpTable): Promise<AmqpTable> {
    this.send(channel, name, args);
    return (await this.next(`${name}-ok`)).args;
  }

  /**
   * Takes the first method of this name, so far or to come.
   *
   * @throws Error - when the broker closes instead, with what it said
   */
  async next(name: string): Promise<AmqpMethod> {
    for (;;) {
      const at = this.#methods.findIndex((method) => method.name === name);
      const [found] = at < 0 ? [] : this.#methods.splice(at, 1);
      if (found) return found;
      const close = this.#methods.find((method) => method.name.endsWith('.close'));
      if (close) throw new Error(`${String(close.args['replyCode'])} ${String(close.args['replyText'])}`);
      if (this.#over) throw new Error(`The connection was closed before ${name}`);
      await new Promise<void>((resolve) => this.#lookers.add(resolve));
    }
  }

  /** The payload sizes of all frames received. */
  frameSizes(): readonly number[] {
    return this.#sizes;
  }

  /** The start of a frame whose end has not come. */
  get rest(): Buffer {
    return this.#splitter.rest;
  }

  /** Resolves with the next heartbeat. */
  async nextHeartbeat(): Promise<void> {
    const before = this.#heartbeats;
    while (this.#heartbeats === before) {
      if (this.#over) throw new Error('The connection was closed before a heartbeat');
      await new Promise<void>((resolve) => this.#lookers.add(resolve));
    }
  }

  async close(): Promise<void> {
    this.#socket.destroy();
    await this.closed;
  }

  #onFrame({ type, channel, payload }: AmqpFrame): void {
    this.#sizes.push(payload.length);
    if (type === FRAME.heartbeat) this.#heartbeats += 1;
    if (type === FRAME.method) this.#methods.push({ channel, ...readMethod(payload) });
  }

  #look(): void {
    for (const resolve of this.#lookers) resolve();
    this.#lookers.clear();
  }
}

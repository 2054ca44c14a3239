import type { Socket } from 'node:net';
import type { AmqpTable } from './amqp-fields.js';
import { FRAME, FRAME_EXTRA_BYTES, frameBytes, FrameSplitter } from './amqp-frames.js';
import { contentHeaderBytes, methodBytes, readContentHeader, readMethod } from './amqp-methods.js';
import { resetSocket } from './reset-socket.js';

/** Something that a client sent, decoded. */
export interface AmqpEvent {
  readonly connection: AmqpPeerConnection;
  readonly channel: number;
  /** A method, such as `queue.declare`; or `header` (the protocol header) or `heartbeat`. */
  readonly name: string;
  readonly args: AmqpTable;
  /** Of a publish: the message, and its number for confirms when the channel confirms. */
  readonly properties?: AmqpTable;
  readonly body?: Buffer;
  readonly confirmTag?: number;
}

/** What a peer tells its clients of itself. */
export interface AmqpPeerSettings {
  readonly mechanisms: string;
  readonly channelMax: number;
  readonly frameMax: number;
  /** Seconds, as on the wire; 0 is none. */
  readonly heartbeat: number;
  readonly serverProperties: AmqpTable;
}

const PROTOCOL_HEADER_BYTES = 8;

interface Unfinished {
  readonly event: AmqpEvent;
  properties: AmqpTable;
  left: number;
  readonly parts: Buffer[];
}

/** One client of the peer. What is sent here goes out as it is, sensible or not. */
export class AmqpPeerConnection {
  /** Which it is of all that came, from 1. */
  readonly number: number;
  /** Resolves when the socket is closed. */
  readonly closed: Promise<void>;
  readonly settings: AmqpPeerSettings;
  readonly #socket: Socket;
  readonly #onEvent: (event: AmqpEvent) => void;
  readonly #unfinished = new Map<number, Unfinished>();
  /** The number of the next publish, by channel; channels that confirm only. */
  readonly #confirms = new Map<number, number>();
  readonly #frames = new FrameSplitter();
  #greeting: Buffer = Buffer.alloc(0);
  #greeted = false;
  #frameMax: number;
  #heartbeats: NodeJS.Timeout | undefined;

  constructor(
    number: number,
    socket: Socket,
    settings: AmqpPeerSettings,
    onEvent: (event: AmqpEvent) => void,
    onNonsense: (error: unknown) => void,
  ) {
    this.number = number;
    this.settings = settings;
    this.#socket = socket;
    this.#onEvent = onEvent;
    this.#frameMax = settings.frameMax;
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.stopHeartbeats();
        resolve();
      });
    });
    socket.on('error', () => {}); // the client is gone; `closed` tells
    socket.on('data', (bytes: Buffer) => {
      try {
        this.#take(bytes);
      } catch (error) {
        onNonsense(error);
        socket.destroy();
      }
    });
  }

  /** Sends a method; with its content when one is given. */
  send(
    channel: number,
    name: string,
    args: AmqpTable = {},
    content?: { properties?: AmqpTable; body: Buffer | string },
  ): void {
    const frames = [frameBytes(FRAME.method, channel, methodBytes(name, args))];
    if (content) {
      const body = Buffer.from(content.body);
      frames.push(frameBytes(FRAME.header, channel, contentHeaderBytes(body.length, content.properties)));
      const size = (this.#frameMax || Infinity) - FRAME_EXTRA_BYTES;
      for (let at = 0; at < body.length; at += size)
        frames.push(frameBytes(FRAME.body, channel, body.subarray(at, at + size)));
    }
    this.sendRaw(Buffer.concat(frames));
  }

  /** Sends a frame of any type, with another size or end than is true when so told. */
  sendFrame(type: number, channel: number, payload: Buffer, lie: { size?: number; end?: number } = {}): void {
    this.sendRaw(frameBytes(type, channel, payload, lie));
  }

  /** Sends bytes as they are. */
  sendRaw(bytes: Buffer | string): void {
    if (!this.#socket.destroyed && !this.#socket.writableEnded) this.#socket.write(bytes);
  }

  /** What is sent from now until {@link uncork} leaves in one packet, as far as it fits. */
  cork(): void {
    this.#socket.cork();
  }

  uncork(): void {
    this.#socket.uncork();
  }

  /** Reads nothing more, so that the client cannot write. */
  pauseReading(): void {
    this.#socket.pause();
  }

  resumeReading(): void {
    this.#socket.resume();
  }

  /** Sends a message to a consumer. */
  deliver(
    channel: number,
    consumerTag: string,
    deliveryTag: number,
    content: { properties?: AmqpTable; body: Buffer | string; redelivered?: boolean },
  ): void {
    const { redelivered = false, ...message } = content;
    this.send(channel, 'basic.deliver', { consumerTag, deliveryTag, redelivered }, message);
  }

  /** Closes a channel as a broker does on an error: 404 `NOT_FOUND`, say. */
  closeChannel(channel: number, replyCode: number, replyText: string): void {
    this.#confirms.delete(channel);
    this.send(channel, 'channel.close', { replyCode, replyText });
  }

  /** Closes the connection as a broker does: 403 `ACCESS_REFUSED`, 320 `CONNECTION_FORCED`. */
  closeConnection(replyCode: number, replyText: string): void {
    this.send(0, 'connection.close', { replyCode, replyText });
  }

  /** The answer that a broker without objection gives; none to what needs none. */
  answer(event: AmqpEvent): void {
    if (event.args['nowait'] === true) return;
    const reply = ANSWERS.get(event.name);
    if (reply) this.send(event.channel, ...reply(event, this.settings));
    else if (event.confirmTag !== undefined)
      this.send(event.channel, 'basic.ack', { deliveryTag: event.confirmTag });
    if (event.name === 'connection.close' || event.name === 'connection.close-ok') this.#socket.end();
    if (event.name === 'connection.tune-ok') this.#tuned(event.args);
  }

  /** Sends no more heartbeats. */
  stopHeartbeats(): void {
    clearInterval(this.#heartbeats);
  }

  /** Ends the socket: in order (FIN), or with a reset (RST). */
  cut(how: 'fin' | 'rst' = 'rst'): void {
    if (how === 'rst') resetSocket(this.#socket);
    else this.#socket.destroySoon();
  }

  #tuned(args: AmqpTable): void {
    this.#frameMax = Number(args['frameMax']);
    const seconds = Number(args['heartbeat']);
    if (seconds === 0) return;
    const beat = (): void => this.sendFrame(FRAME.heartbeat, 0, Buffer.alloc(0));
    this.#heartbeats = setInterval(beat, (seconds * 1000) / 2).unref();
  }

  #take(bytes: Buffer): void {
    let rest = bytes;
    if (!this.#greeted) {
      this.#greeting = Buffer.concat([this.#greeting, bytes]);
      if (this.#greeting.length < PROTOCOL_HEADER_BYTES) return;
      this.#greeted = true;
      rest = this.#greeting.subarray(PROTOCOL_HEADER_BYTES);
      const body = this.#greeting.subarray(0, PROTOCOL_HEADER_BYTES);
      this.#onEvent({ connection: this, channel: 0, name: 'header', args: {}, body });
    }
    for (const { type, channel, payload } of this.#frames.take(rest)) this.#onFrame(type, channel, payload);
  }

  #onFrame(type: number, channel: number, payload: Buffer): void {
    if (type === FRAME.heartbeat) this.#onEvent({ connection: this, channel, name: 'heartbeat', args: {} });
    else if (type === FRAME.method) this.#onMethod(channel, payload);
    else this.#onContent(type, channel, payload);
  }

  #onMethod(channel: number, payload: Buffer): void {
    const event: AmqpEvent = { connection: this, channel, ...readMethod(payload) };
    if (event.name === 'basic.publish') {
      this.#unfinished.set(channel, { event, properties: {}, left: 0, parts: [] });
      return;
    }
    if (event.name === 'confirm.select') this.#confirms.set(channel, 1);
    if (event.name === 'channel.close' || event.name === 'channel.open') this.#confirms.delete(channel);
    this.#onEvent(event);
  }

  #onContent(type: number, channel: number, payload: Buffer): void {
    const unfinished = this.#unfinished.get(channel);
    if (!unfinished) throw new Error(`Content without a publish on channel ${channel}`);
    if (type === FRAME.header) {
      const { bodySize, properties } = readContentHeader(payload);
      Object.assign(unfinished, { left: bodySize, properties });
    } else {
      unfinished.parts.push(payload);
      unfinished.left -= payload.length;
    }
    if (unfinished.left > 0) return;
    this.#unfinished.delete(channel);
    const confirmTag = this.#confirms.get(channel);
    if (confirmTag !== undefined) this.#confirms.set(channel, confirmTag + 1);
    const message = { properties: unfinished.properties, body: Buffer.concat(unfinished.parts) };
    this.#onEvent({ ...unfinished.event, ...message, ...(confirmTag === undefined ? {} : { confirmTag }) });
  }
}

type Answer = (event: AmqpEvent, settings: AmqpPeerSettings) => [name: string, args?: AmqpTable];

const tune: Answer = (_event, { channelMax, frameMax, heartbeat }) => [
  'connection.tune',
  { channelMax, frameMax, heartbeat },
];

let namedQueues = 0;

function queueName(asked: unknown): string {
  if (typeof asked === 'string' && asked !== '') return asked;
  namedQueues += 1;
  return `amq.gen-${namedQueues}`;
}

function consumerTag({ args }: AmqpEvent): AmqpTable {
  const asked = args['consumerTag'];
  return { consumerTag: asked === '' ? `amq.ctag-${String(args['queue'])}` : asked };
}

const ANSWERS: ReadonlyMap<string, Answer> = new Map<string, Answer>([
  [
    'header',
    (_event, { mechanisms, serverProperties }) => [
      'connection.start',
      { versionMinor: 9, serverProperties, mechanisms, locales: 'en_US' },
    ],
  ],
  ['connection.start-ok', tune],
  ['connection.secure-ok', tune],
  ['connection.open', () => ['connection.open-ok']],
  ['connection.close', () => ['connection.close-ok']],
  ['connection.update-secret', () => ['connection.update-secret-ok']],
  ['channel.open', () => ['channel.open-ok']],
  ['channel.flow', ({ args }) => ['channel.flow-ok', { active: args['active'] }]],
  ['channel.close', () => ['channel.close-ok']],
  ...['exchange.declare', 'exchange.delete', 'exchange.bind', 'exchange.unbind'].map(plain),
  ['queue.declare', ({ args }) => ['queue.declare-ok', { queue: queueName(args['queue']) }]],
  ...['queue.bind', 'queue.unbind', 'queue.purge', 'queue.delete', 'basic.qos', 'basic.recover'].map(plain),
  ['basic.consume', (event) => ['basic.consume-ok', consumerTag(event)]],
  ['basic.cancel', (event) => ['basic.cancel-ok', consumerTag(event)]],
  ['basic.get', () => ['basic.get-empty']],
  ['confirm.select', () => ['confirm.select-ok']],
]);

function plain(name: string): [string, Answer] {
  return [name, () => [`${name}-ok`]];
}

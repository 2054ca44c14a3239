import { type IncomingMessage, request } from 'node:http';

/** One server-sent event. */
export interface ReadEvent {
  readonly name: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Reads a stream of server-sent events. */
export class EventReader {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** Those that nobody has taken yet. */
  readonly events: ReadEvent[] = [];
  /** How many signs of life came. */
  beats = 0;
  /** Resolves when the stream is over. */
  readonly ended: Promise<void>;
  readonly #response: IncomingMessage;
  #waiting: () => void = () => undefined;
  #text = '';

  private constructor(response: IncomingMessage) {
    this.#response = response;
    this.status = response.statusCode ?? 0;
    this.headers = response.headers;
    this.ended = new Promise((resolve) => {
      response.once('close', () => {
        resolve();
        this.#waiting();
      });
    });
    response.setEncoding('utf8').on('data', (text: string) => {
      this.#read(text);
    });
    response.on('error', () => undefined); // it is cut off
  }

  /** Asks for the stream; resolves with the head of the answer. */
  static async open(port: number, headers: Readonly<Record<string, string>> = {}): Promise<EventReader> {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request({ host: '127.0.0.1', port, path: '/page/events', headers, agent: false }, resolve)
        .once('error', reject)
        .end();
    });
    return new EventReader(response);
  }

  /** Takes the next event. @throws Error when the stream ends before one comes */
  async next(): Promise<ReadEvent> {
    for (;;) {
      const event = this.events.shift();
      if (event) return event;
      await this.#news();
    }
  }

  /** Resolves when so many signs of life have come. @throws Error when the stream ends before */
  async beat(times: number): Promise<void> {
    while (this.beats < times) await this.#news();
  }

  close(): void {
    this.#response.destroy();
  }

  async #news(): Promise<void> {
    if (this.#response.closed) throw new Error('The stream is over');
    await new Promise<void>((resolve) => {
      this.#waiting = resolve;
    });
  }

  #read(text: string): void {
    this.#text += text;
    const frames = this.#text.split('\n\n');
    this.#text = frames.pop() ?? '';
    for (const frame of frames) {
      if (frame === ':') this.beats += 1;
      const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(frame) ?? [];
      if (name !== undefined && data !== undefined)
        this.events.push({ name, data: JSON.parse(data) as ReadEvent['data'] }); // an object, as the page reads it
    }
    this.#waiting();
  }
}

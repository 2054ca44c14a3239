import type { ServerResponse } from 'node:http';

/** Headers of a stream of server-sent events. */
const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no', // proxies are to hand each event on
};
/** After so long a browser comes again when the stream was cut. */
const RETRY_MS = 2_000;

/** One event, as it is sent. */
export function eventFrame(event: string, data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/**
 * One who listens. Whoever reads more slowly than things change gets all that there is once it has read on, and not what
 * was between: no more than one event waits for it.
 */
export class EventClient {
  readonly #response: ServerResponse;
  readonly #whole: () => string | undefined;
  /** Does it read on at once, does an event wait for it, or has something happened besides? */
  #state: 'keeps up' | 'waits' | 'misses' = 'keeps up';
  #waitedAtBeat = false;

  /**
   * @param whole - the event that tells all there is; undefined: nothing is known yet
   * @param headers - besides those of a stream
   */
  constructor(
    response: ServerResponse,
    whole: () => string | undefined,
    headers: Readonly<Record<string, string>>,
  ) {
    this.#response = response;
    this.#whole = whole;
    response.on('error', () => undefined); // it has gone: its `close` follows
    response.on('drain', () => {
      this.#readsOn();
    });
    response.writeHead(200, { ...headers, ...HEADERS });
    response.write(`retry: ${String(RETRY_MS)}\n\n`);
  }

  /** Tells what has changed, or, once it reads on, all there is. */
  send(frame: string): void {
    if (this.#state === 'keeps up') this.#write(frame);
    else this.#state = 'misses';
  }

  /** Shows that the stream is alive. One that has read nothing since the last beat is cut off. */
  beat(): void {
    if (this.#state === 'keeps up') {
      this.#waitedAtBeat = false;
      this.#write(':\n\n');
    } else if (this.#waitedAtBeat) {
      this.#response.destroy();
    } else {
      this.#waitedAtBeat = true;
    }
  }

  /** Whoever has not read what there is does not get to its end. */
  end(): void {
    if (this.#state === 'keeps up') this.#response.end();
    else this.#response.destroy();
  }

  #write(frame: string): void {
    if (!this.#response.write(frame)) this.#state = 'waits';
  }

  #readsOn(): void {
    const missed = this.#state === 'misses' ? this.#whole() : undefined;
    this.#state = 'keeps up';
    this.#waitedAtBeat = false;
    if (missed !== undefined) this.#write(missed);
  }
}

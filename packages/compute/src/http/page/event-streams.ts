import type { ServerResponse } from 'node:http';
import { HttpError } from '../http-error.js';
import { CloudWatch, type CloudWatchOptions } from './cloud-watch.js';
import { EventClient } from './event-client.js';

/** What the streams tell of, and how. */
export interface EventStreamsOptions extends Omit<CloudWatchOptions, 'look'> {
  /** Gives what looks at the cloud, each time that somebody begins to listen when nobody else does. */
  readonly newLook: () => CloudWatchOptions['look'];
  /** So many listen at the same time; default 100. */
  readonly maxClients?: number | undefined;
  /** From one sign of life to the next; default 15000. */
  readonly heartbeatMs?: number | undefined;
}

/** A stream, while it is open. */
interface Open {
  readonly client: EventClient;
  /** May it go on listening? Never rejects. */
  readonly isAllowed: () => Promise<boolean>;
}

/** Streams of server-sent events that tell of a cloud: what {@link CloudWatch} sees, once for all who listen, and only then. */
export class EventStreams {
  readonly #options: EventStreamsOptions;
  readonly #open = new Set<Open>();
  /** There is one while somebody listens. */
  #watch: CloudWatch | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: EventStreamsOptions) {
    this.#options = options;
  }

  /** @throws HttpError 503 when so many listen as may, or nobody may any more */
  checkRoom(): void {
    const { maxClients = 100 } = this.#options;
    if (this.#isClosed || this.#open.size >= maxClients)
      throw new HttpError(503, 'Too many are listening; try again later', { 'Retry-After': '5' });
  }

  /**
   * Tells this one, until it goes, all end, or it may listen no longer.
   * @param headers - of the answer, besides those of a stream
   * @param isAllowed - is asked at each sign of life; never rejects
   */
  add(
    response: ServerResponse,
    headers: Readonly<Record<string, string>>,
    isAllowed: () => Promise<boolean>,
  ): void {
    if (response.destroyed) return; // it has gone already, and nobody would tell of that
    const client = new EventClient(response, () => this.#watch?.whole, headers);
    const open = { client, isAllowed };
    response.once('close', () => {
      this.#leave(open);
    });
    this.#open.add(open);
    const whole = this.#watch?.whole;
    if (whole !== undefined) client.send(whole);
    if (!this.#watch) this.#begin();
  }

  /** Ends all, at once; none is added any more. */
  close(): void {
    this.#isClosed = true;
    for (const open of this.#open) this.#end(open);
  }

  #end(open: Open): void {
    this.#leave(open);
    open.client.end();
  }

  #leave(open: Open): void {
    this.#open.delete(open);
    if (this.#open.size > 0) return;
    this.#watch?.end();
    this.#watch = undefined;
    clearInterval(this.#heartbeat);
  }

  #begin(): void {
    const { newLook, heartbeatMs = 15_000, ...how } = this.#options;
    this.#heartbeat = setInterval(() => void this.#beat(), heartbeatMs).unref();
    this.#watch = new CloudWatch({ ...how, look: newLook() }, (frame) => {
      for (const { client } of this.#open) client.send(frame);
    });
  }

  /** Who was let in, and would not be now, is not told any more. */
  async #beat(): Promise<void> {
    for (const open of this.#open) {
      open.client.beat();
      if (!(await open.isAllowed())) this.#end(open);
    }
  }
}

import type { Socket } from 'node:net';
import { CLEAR_WEATHER, FaultPump, type Weather } from './fault-pump.js';
import { resetSocket } from './reset-socket.js';

/** From the side of who connected. */
export type Direction = 'toServer' | 'toClient';

/** How a connection is cut: in order (FIN), or with a reset (RST). */
export type Cut = 'fin' | 'rst';

export const DIRECTIONS: readonly Direction[] = ['toServer', 'toClient'];

/** One connection through the proxy. */
export class FaultLink {
  /** Which it is of all that the proxy has accepted, from 1. */
  readonly number: number;
  /** Resolves when both ends are closed. */
  readonly closed: Promise<void>;
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #pumps: Readonly<Record<Direction, FaultPump>>;

  constructor(number: number, client: Socket, server: Socket, weather: Readonly<Record<Direction, Weather>>) {
    this.number = number;
    this.#client = client;
    this.#server = server;
    const cut = (): void => this.cut('rst');
    this.#pumps = {
      toServer: new FaultPump(client, server, weather.toServer, cut),
      toClient: new FaultPump(server, client, weather.toClient, cut),
    };
    this.closed = Promise.all([
      this.#whenClosed(client, 'toServer'),
      this.#whenClosed(server, 'toClient'),
    ]).then(() => {
      for (const direction of DIRECTIONS) this.#pumps[direction].stop();
    });
  }

  /** The local port of who connected: tells the connections of a broker's list apart. */
  get serverSidePort(): number | undefined {
    return this.#server.localPort;
  }

  /** Bytes that have passed in this direction. */
  passed(direction: Direction): number {
    return this.#pumps[direction].passed;
  }

  /** Changes the weather of a direction; what is not named stays. */
  setWeather(direction: Direction, weather: Partial<Weather>): void {
    this.#pumps[direction].change(weather);
  }

  /** Lets nothing through, and loses nothing: what is held goes on with {@link heal}. */
  blackHole(direction: Direction | 'both' = 'both'): void {
    for (const one of direction === 'both' ? DIRECTIONS : [direction])
      this.setWeather(one, { blackHole: true });
  }

  /** Ends all that hinders the bytes. */
  heal(): void {
    for (const direction of DIRECTIONS) this.setWeather(direction, CLEAR_WEATHER);
  }

  /** Cuts both ends; what was held is lost. */
  cut(how: Cut): void {
    for (const direction of DIRECTIONS) this.#pumps[direction].stop();
    for (const socket of [this.#client, this.#server]) {
      if (how === 'rst') resetSocket(socket);
      else socket.destroySoon();
    }
  }

  /** When one end is gone for good, the other goes the same way, once it can hear of it. */
  #whenClosed(socket: Socket, direction: Direction): Promise<void> {
    return new Promise((resolve) => {
      let failed = false;
      socket.on('error', () => (failed = true));
      socket.on('close', () => {
        if (failed) this.#pumps[direction].reset();
        resolve();
      });
    });
  }
}

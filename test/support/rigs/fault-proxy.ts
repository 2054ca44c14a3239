import { connect, createServer, type Server, type Socket } from 'node:net';
import { type Cut, type Direction, DIRECTIONS, FaultLink } from './fault-link.js';
import { CLEAR_WEATHER, type Weather } from './fault-pump.js';
import { freePort } from './free-port.js';
import { resetSocket } from './reset-socket.js';

/**
 * What becomes of new connections: passed on; not accepted (connection refused); accepted and left without a byte;
 * accepted and reset at once.
 */
export type Doorman = 'forward' | 'refuse' | 'mute' | 'reset';

/** A TCP proxy on the loopback that does to connections what networks do. */
export class FaultProxy {
  readonly port: number;
  /** Connections accepted so far, those that were left mute or reset included. */
  accepted = 0;
  readonly #target: { readonly host: string; readonly port: number };
  readonly #links = new Set<FaultLink>();
  readonly #mute = new Set<Socket>();
  readonly #waiting: ((link: FaultLink) => void)[] = [];
  #weather: Readonly<Record<Direction, Weather>> = { toServer: CLEAR_WEATHER, toClient: CLEAR_WEATHER };
  #doorman: Doorman = 'forward';
  #server: Server | undefined;

  private constructor(port: number, target: { readonly host: string; readonly port: number }) {
    this.port = port;
    this.#target = target;
  }

  static async start(target: { readonly host?: string; readonly port: number }): Promise<FaultProxy> {
    const proxy = new FaultProxy(await freePort(), { host: '127.0.0.1', ...target });
    await proxy.#listen();
    return proxy;
  }

  /** The live connections, the oldest first. */
  get links(): readonly FaultLink[] {
    return [...this.#links];
  }

  /** The same URL, through the proxy. */
  url(url: string): string {
    return url.replace(/(@|\/\/)[^/@]*(\/|$)/, `$1127.0.0.1:${this.port}$2`);
  }

  /** The next connection that is accepted and passed on. */
  nextLink(): Promise<FaultLink> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** What becomes of new connections from now on; the live ones stay. */
  async setDoorman(doorman: Doorman): Promise<void> {
    this.#doorman = doorman;
    if (doorman === 'refuse') this.#close();
    else if (!this.#server) await this.#listen();
  }

  /** Changes the weather of the live connections and of all to come. */
  setWeather(direction: Direction | 'both', weather: Partial<Weather>): void {
    for (const one of direction === 'both' ? DIRECTIONS : [direction]) {
      this.#weather = { ...this.#weather, [one]: { ...this.#weather[one], ...weather } };
      for (const link of this.#links) link.setWeather(one, weather);
    }
  }

  /** Gives one connection the weather of all again. */
  calm(link: FaultLink): void {
    for (const one of DIRECTIONS) link.setWeather(one, this.#weather[one]);
  }

  /** Lets nothing through in a direction, on the live connections and all to come, until {@link heal}. */
  blackHole(direction: Direction | 'both' = 'both'): void {
    this.setWeather(direction, { blackHole: true });
  }

  /** Clear weather for all, and new connections are passed on. */
  async heal(): Promise<void> {
    this.setWeather('both', CLEAR_WEATHER);
    await this.setDoorman('forward');
  }

  /** Cuts all live connections; gives their number. */
  cut(how: Cut = 'rst'): number {
    const live = this.links;
    for (const link of live) link.cut(how);
    for (const socket of this.#mute) resetSocket(socket);
    return live.length;
  }

  /** Ends it and all connections. */
  async close(): Promise<void> {
    this.#doorman = 'refuse';
    this.#close();
    const live = this.links;
    this.cut('rst');
    await Promise.all(live.map((link) => link.closed));
  }

  #listen(): Promise<void> {
    // Half-open, so that the end of one direction is not the end of the other.
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#accept(socket));
    this.#server = server;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.port, '127.0.0.1', resolve);
    });
  }

  /** The port is free at once; connections that were accepted stay. */
  #close(): void {
    this.#server?.close();
    this.#server = undefined;
  }

  #accept(client: Socket): void {
    this.accepted += 1;
    if (this.#doorman === 'forward') {
      this.#forward(client);
      return;
    }
    client.on('error', () => {}); // the client is gone
    if (this.#doorman !== 'mute') {
      resetSocket(client);
      return;
    }
    this.#mute.add(client);
    client.resume().once('close', () => this.#mute.delete(client));
  }

  #forward(client: Socket): void {
    const server = connect({ ...this.#target, allowHalfOpen: true, noDelay: true });
    const link = new FaultLink(this.accepted, client, server, this.#weather);
    this.#links.add(link);
    void link.closed.then(() => this.#links.delete(link));
    for (const resolve of this.#waiting.splice(0)) resolve(link);
  }
}

import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type RespCommand, RespPeerConnection } from './resp-peer-connection.js';

export type { RespCommand, RespPeerConnection } from './resp-peer-connection.js';

/** Does with a command what it likes, in place of the peer; `command.pass()` is what the peer would have done. */
export type RespScript = (command: RespCommand) => void | Promise<void>;

/**
 * A Redis made of obedience: it notes each command, and passes it on to a server behind it or, without one, answers as a
 * server without data. Scripts make it refuse, delay, be silent, break off or talk nonsense. It speaks RESP2 and RESP3.
 */
export class RespPeer {
  readonly port: number;
  /** All that came, in order. */
  readonly commands: RespCommand[] = [];
  readonly connections: RespPeerConnection[] = [];
  readonly #server: Server;
  readonly #behind: number | undefined;
  readonly #scripts = new Map<string, RespScript>();
  readonly #taken = new Set<RespCommand>();
  readonly #waiting = new Set<() => void>();
  readonly #sockets = new Set<Socket>();
  /** What went wrong in the peer or a script; {@link close} throws the first. */
  readonly #failures: unknown[] = [];

  private constructor(server: Server, behind: number | undefined) {
    this.#server = server;
    this.#behind = behind;
    this.port = (server.address() as AddressInfo).port; // it listens on TCP
    server.on('connection', (socket) => this.#accept(socket));
  }

  /** @param behind - the port of a server on the loopback that does what no script does */
  static async start(behind?: number): Promise<RespPeer> {
    const server = createServer({ noDelay: true }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new RespPeer(server, behind);
  }

  /** @param user - with its password, as in `user:password` */
  url(user = '', scheme = 'redis'): string {
    return `${scheme}://${user}${user === '' ? '' : '@'}127.0.0.1:${this.port}/0`;
  }

  /** Lets a script answer all commands of this name, or with `*` all others, from now on; the function returned ends that. */
  script(name: string, script: RespScript): () => void {
    this.#scripts.set(name, script);
    return () => {
      if (this.#scripts.get(name) === script) this.#scripts.delete(name);
    };
  }

  /** The same for the next command of this name only. */
  scriptOnce(name: string, script: RespScript): void {
    const end = this.script(name, (command) => {
      end();
      return script(command);
    });
  }

  /** All commands of this name so far. */
  received(name: string): RespCommand[] {
    return this.commands.filter((command) => command.name === name);
  }

  /** The first command of this name, so far or to come, that no earlier call has given. */
  async next(name: string, isIt: (command: RespCommand) => boolean = () => true): Promise<RespCommand> {
    for (;;) {
      const found = this.commands.find(
        (command) => command.name === name && !this.#taken.has(command) && isIt(command),
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
   * @throws what a script threw, or what the client sent that is no RESP
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
    const onCommand = (command: RespCommand): void => void this.#onCommand(command);
    this.connections.push(
      new RespPeerConnection(number, socket, this.#behind, onCommand, (error) => this.#fail(error)),
    );
  }

  async #onCommand(command: RespCommand): Promise<void> {
    this.commands.push(command);
    this.#wake();
    try {
      const script = this.#scripts.get(command.name) ?? this.#scripts.get('*');
      if (script) await script(command);
      else command.pass();
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

import { connect, type Socket } from 'node:net';
import { resetSocket } from './reset-socket.js';
import { ANSWERS } from './resp-answers.js';
import { readCommand, respBytes, type RespProtocol, RespSplitter, type RespValue } from './resp-values.js';

/** Commands whose first argument belongs to the name. */
const FAMILIES = new Set([
  'ACL',
  'CLIENT',
  'CLUSTER',
  'CONFIG',
  'FUNCTION',
  'SCRIPT',
  'SENTINEL',
  'XGROUP',
  'XINFO',
]);
const PUSH = '>'.charCodeAt(0);

/** What comes in the place of a command's answer. Answers leave in the order of the commands. */
interface Turn {
  bytes: Buffer | undefined;
}

/** A command that a client sent. It is answered once, or never: then nothing behind it on its connection is. */
export class RespCommand {
  readonly connection: RespPeerConnection;
  /** In capitals, and with the subcommand: `XADD`, `CLIENT UNBLOCK`. */
  readonly name: string;
  /** All that follows the first word. */
  readonly args: readonly Buffer[];
  readonly #value: Buffer;
  readonly #turn: Turn;

  constructor(connection: RespPeerConnection, value: Buffer, turn: Turn) {
    const [first, ...args] = readCommand(value);
    const word = String(first).toUpperCase();
    this.connection = connection;
    this.name = FAMILIES.has(word) && args[0] ? `${word} ${String(args[0]).toUpperCase()}` : word;
    this.args = args;
    this.#value = value;
    this.#turn = turn;
  }

  /** The command as text, for what a test looks for in it. */
  get text(): string {
    return [this.name.split(' ')[0], ...this.args].map(String).join(' ');
  }

  answer(value: RespValue): void {
    this.answerRaw(respBytes(value, this.connection.protocol));
  }

  /** Answers with an error: its code and its text, as in `LOADING Redis is loading the dataset in memory`. */
  fail(error: string): void {
    this.answer({ error });
  }

  /** Answers with bytes as they are: half an answer, or nonsense. */
  answerRaw(bytes: Buffer | string): void {
    this.#turn.bytes = Buffer.from(bytes);
    this.connection.flush();
  }

  /** Does what the peer does of itself: asks the server behind it, or answers as one without data. */
  pass(): void {
    if (this.connection.pass(this.#value, this.#turn)) return;
    const answer = ANSWERS.get(this.name) ?? ANSWERS.get(this.name.split(' ')[0] ?? '');
    this.answer(answer ? answer(this) : { error: `ERR unknown command '${this.name}'` });
  }
}

/** One client of the peer. */
export class RespPeerConnection {
  /** Which it is of all that came, from 1. */
  readonly number: number;
  /** Resolves when the socket is closed. */
  readonly closed: Promise<void>;
  /** What was agreed on by HELLO. */
  protocol: RespProtocol = 2;
  readonly #socket: Socket;
  readonly #server: Socket | undefined;
  readonly #onCommand: (command: RespCommand) => void;
  readonly #turns: Turn[] = [];
  /** Those of them that the server behind it has been asked for. */
  readonly #asked: Turn[] = [];

  /** @param behind - the port of a server that answers what is passed on */
  constructor(
    number: number,
    socket: Socket,
    behind: number | undefined,
    onCommand: (command: RespCommand) => void,
    onNonsense: (error: unknown) => void,
  ) {
    this.number = number;
    this.#socket = socket;
    this.#onCommand = onCommand;
    if (behind !== undefined) this.#server = this.#openServer(behind);
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#server?.destroy();
        resolve();
      });
    });
    socket.on('error', () => {}); // the client is gone; `closed` tells
    const commands = new RespSplitter();
    socket.on('data', (bytes: Buffer) => {
      try {
        for (const value of commands.take(bytes)) this.#take(value);
      } catch (error) {
        onNonsense(error);
        socket.destroy();
      }
    });
  }

  /** Passes a command on; false when there is no server behind. */
  pass(value: Buffer, turn: Turn): boolean {
    if (!this.#server) return false;
    this.#asked.push(turn);
    this.#server.write(value);
    return true;
  }

  /** Sends the answers that are next. */
  flush(): void {
    while (this.#turns[0]?.bytes !== undefined) this.sendRaw(this.#turns.shift()?.bytes ?? '');
  }

  /** Sends bytes out of turn. */
  sendRaw(bytes: Buffer | string): void {
    if (!this.#socket.destroyed && !this.#socket.writableEnded) this.#socket.write(bytes);
  }

  /** Reads nothing more, so that the client cannot write. */
  pauseReading(): void {
    this.#socket.pause();
  }

  resumeReading(): void {
    this.#socket.resume();
  }

  /** Ends the socket: in order (FIN), or with a reset (RST). */
  cut(how: 'fin' | 'rst' = 'rst'): void {
    if (how === 'rst') resetSocket(this.#socket);
    else this.#socket.destroySoon();
  }

  #take(value: Buffer): void {
    const turn: Turn = { bytes: undefined };
    this.#turns.push(turn);
    const command = new RespCommand(this, value, turn);
    if (command.name === 'HELLO' && command.args[0]) this.protocol = String(command.args[0]) === '3' ? 3 : 2;
    this.#onCommand(command);
  }

  #openServer(port: number): Socket {
    const server = connect({ port, host: '127.0.0.1', noDelay: true });
    const answers = new RespSplitter();
    server.on('error', () => {}); // it is gone; the client is told by the end
    server.on('close', () => this.#socket.destroySoon());
    server.on('data', (bytes: Buffer) => {
      for (const value of answers.take(bytes)) this.#onAnswer(value);
    });
    return server;
  }

  #onAnswer(value: Buffer): void {
    const turn = value[0] === PUSH ? undefined : this.#asked.shift();
    if (!turn) {
      this.sendRaw(value);
      return;
    }
    turn.bytes = value;
    this.flush();
  }
}

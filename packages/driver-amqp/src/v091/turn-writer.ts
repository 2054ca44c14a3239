import type { Duplex } from 'node:stream';

/** Up to so many bytes are copied into those of the turn; what is longer is passed on as it is. */
export const COPY_UP_TO = 8192;
const CHUNK = 64 * 1024;

/**
 * Lets all that is written to a socket in one turn of the event loop leave in one system call. amqplib writes once a frame
 * group, whatever the load, which is most of a server's CPU (`docs/performance.md`); here what is short is copied into
 * one run of bytes, in order, and that is handed to the socket when the turn's work is done. What is long leaves at once,
 * with what is before it: the broker reads the first while the second is made.
 */
export class TurnWriter {
  readonly #socket: Duplex;
  readonly #write: Duplex['write'];
  /** Bytes before {@link #begin} belong to the socket, which may still read them. */
  #chunk = Buffer.allocUnsafeSlow(CHUNK);
  #begin = 0;
  #end = 0;
  #due = false;

  /** Takes the place of the socket's own `write` and `end`. */
  constructor(socket: Duplex) {
    this.#socket = socket;
    this.#write = socket.write.bind(socket);
    socket.write = (bytes: unknown, ...rest: unknown[]): boolean => this.#pass(bytes as Buffer, rest); // amqplib writes bytes
    const end = socket.end.bind(socket) as (...args: unknown[]) => Duplex; // all overloads alike
    socket.end = (...args: unknown[]): Duplex => {
      this.#flush();
      return end(...args);
    };
  }

  /** Bytes that the kernel does not have yet. */
  get waiting(): number {
    return this.#socket.writableLength + this.#end - this.#begin;
  }

  /** Where `size` bytes at most may be written now, from {@link at}; {@link commit} says how many were. */
  reserve(size: number): Buffer {
    if (CHUNK - this.#end < size) this.#nextChunk(size);
    return this.#chunk;
  }

  /** The place in the buffer that {@link reserve} gave. */
  get at(): number {
    return this.#end;
  }

  /** The bytes up to `end` are written. */
  commit(end: number): void {
    this.#end = end;
    this.#beDue();
  }

  /** Writes bytes that nobody changes any more. */
  write(bytes: Buffer): void {
    const { byteLength } = bytes;
    if (byteLength > COPY_UP_TO) {
      this.writeNow([bytes]);
      return;
    }
    this.reserve(byteLength).set(bytes, this.#end);
    this.commit(this.#end + byteLength);
  }

  /** Writes bytes without copying them; they leave at once, with all that is before them, in one system call. */
  writeNow(parts: readonly Buffer[]): void {
    this.#socket.cork();
    this.#handOver();
    for (const part of parts) this.#write(part);
    this.#socket.uncork();
  }

  #pass(bytes: Buffer, rest: readonly unknown[]): boolean {
    if (rest.length === 0) {
      this.write(bytes);
      return this.waiting < this.#socket.writableHighWaterMark;
    }
    this.#flush(); // an encoding or a callback: as it is
    return (this.#write as (...args: unknown[]) => boolean)(bytes, ...rest);
  }

  #beDue(): void {
    if (this.#due) return;
    this.#due = true;
    queueMicrotask(() => {
      this.#flush();
    });
  }

  #flush(): void {
    this.#due = false;
    this.#handOver();
  }

  #handOver(): void {
    if (this.#end === this.#begin) return;
    const bytes = this.#chunk.subarray(this.#begin, this.#end);
    this.#begin = this.#end;
    this.#write(bytes);
  }

  #nextChunk(size: number): void {
    this.#handOver();
    this.#chunk = Buffer.allocUnsafeSlow(Math.max(CHUNK, size));
    this.#begin = 0;
    this.#end = 0;
  }
}

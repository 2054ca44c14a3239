export const FRAME = { method: 1, header: 2, body: 3, heartbeat: 8 } as const;
const FRAME_END = 0xce;
/** What a frame has beside its payload: type, channel, size; end. */
export const FRAME_EXTRA_BYTES = 8;

export interface AmqpFrame {
  readonly type: number;
  readonly channel: number;
  readonly payload: Buffer;
}

/** The bytes of a frame; with another size or end than is true when so told. */
export function frameBytes(
  type: number,
  channel: number,
  payload: Buffer,
  lie: { readonly size?: number; readonly end?: number } = {},
): Buffer {
  const start = Buffer.alloc(FRAME_EXTRA_BYTES - 1);
  start.writeUInt8(type, 0);
  start.writeUInt16BE(channel, 1);
  start.writeUInt32BE(lie.size ?? payload.length, 3);
  return Buffer.concat([start, payload, Buffer.from([lie.end ?? FRAME_END])]);
}

/** Cuts a stream into frames. */
export class FrameSplitter {
  #bytes: Buffer = Buffer.alloc(0);

  /** What is there of the next frame. */
  get rest(): Buffer {
    return this.#bytes;
  }

  /** The frames that are complete now. */
  *take(bytes: Buffer): Generator<AmqpFrame> {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    while (this.#bytes.length >= FRAME_EXTRA_BYTES) {
      const size = this.#bytes.readUInt32BE(3) + FRAME_EXTRA_BYTES;
      if (this.#bytes.length < size) return;
      const frame = this.#bytes.subarray(0, size);
      this.#bytes = this.#bytes.subarray(size);
      if (frame[size - 1] !== FRAME_END) throw new Error('A frame with a wrong end');
      yield { type: frame.readUInt8(0), channel: frame.readUInt16BE(1), payload: frame.subarray(7, -1) };
    }
  }
}

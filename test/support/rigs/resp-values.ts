/** RESP2 or RESP3, as a client asks for by HELLO. */
export type RespProtocol = 2 | 3;

/** A value as it is answered: texts as bulk strings, maps in RESP2 as lists of names and values. */
export type RespValue =
  | null
  | number
  | string
  | Buffer
  | { readonly status: string }
  | { readonly error: string }
  | readonly RespValue[]
  | ReadonlyMap<string, RespValue>;

const LINE_END = '\r\n';
/** Types with a length and so many bytes, and types with a length and so many values. */
const BULKS = '$=!';
const LISTS = '*~>';
const MAPS = '%|';

const line = (text: string): Buffer => Buffer.from(`${text}${LINE_END}`);

function bulk(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([line(`$${bytes.length}`), bytes, Buffer.from(LINE_END)]);
}

const isList = (value: RespValue): value is readonly RespValue[] => Array.isArray(value);

/** The bytes of a value. */
export function respBytes(value: RespValue, protocol: RespProtocol): Buffer {
  if (value === null) return line(protocol === 3 ? '_' : '$-1');
  if (typeof value === 'number') return line(`:${value}`);
  if (typeof value === 'string' || Buffer.isBuffer(value)) return bulk(value);
  if (isList(value))
    return Buffer.concat([line(`*${value.length}`), ...value.map((one) => respBytes(one, protocol))]);
  if (value instanceof Map) return mapBytes(value as ReadonlyMap<string, RespValue>, protocol);
  return line('error' in value ? `-${value.error}` : `+${(value as { status: string }).status}`);
}

function mapBytes(map: ReadonlyMap<string, RespValue>, protocol: RespProtocol): Buffer {
  const start = protocol === 3 ? `%${map.size}` : `*${2 * map.size}`;
  const parts = [...map].flatMap(([name, value]) => [bulk(name), respBytes(value, protocol)]);
  return Buffer.concat([line(start), ...parts]);
}

/** Where the value ends that begins here; undefined when not all of it is there. */
function endOfValue(bytes: Buffer, start: number): number | undefined {
  const lineEnd = bytes.indexOf(LINE_END, start);
  if (lineEnd < 0) return undefined;
  const type = String.fromCharCode(bytes[start] ?? 0);
  const length = Number(bytes.toString('latin1', start + 1, lineEnd));
  let end: number | undefined = lineEnd + LINE_END.length;
  if (BULKS.includes(type)) {
    if (length >= 0) end += length + LINE_END.length;
    return end <= bytes.length ? end : undefined;
  }
  const values = LISTS.includes(type) ? length : MAPS.includes(type) ? 2 * length : 0;
  for (let n = 0; n < values && end !== undefined; n += 1) end = endOfValue(bytes, end);
  return end;
}

/** Cuts a stream into values, each as the bytes that it is. */
export class RespSplitter {
  #bytes: Buffer = Buffer.alloc(0);

  /** The values that are complete now. */
  *take(bytes: Buffer): Generator<Buffer> {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    for (;;) {
      const end = this.#bytes.length > 0 ? endOfValue(this.#bytes, 0) : undefined;
      if (end === undefined) return;
      const value = this.#bytes.subarray(0, end);
      this.#bytes = this.#bytes.subarray(end);
      yield value;
    }
  }
}

/** The name and the arguments of a command, which is a list of bulk strings. */
export function readCommand(value: Buffer): Buffer[] {
  if (value[0] !== '*'.charCodeAt(0)) throw new Error(`No command: ${value.toString('latin1', 0, 40)}`);
  const parts: Buffer[] = [];
  for (let at = value.indexOf(LINE_END) + 2; at < value.length;) {
    const lineEnd = value.indexOf(LINE_END, at);
    const length = Number(value.toString('latin1', at + 1, lineEnd));
    at = lineEnd + LINE_END.length;
    parts.push(value.subarray(at, at + length));
    at += length + LINE_END.length;
  }
  return parts;
}

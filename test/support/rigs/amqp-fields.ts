/** What is read from, or written to, the wire; tables are plain objects without a prototype. */
export type AmqpValue = unknown;
export type AmqpTable = Readonly<Record<string, AmqpValue>>;

/** Types of arguments, as the AMQP 0-9-1 grammar names them. */
export type FieldType =
  'bit' | 'octet' | 'short' | 'long' | 'longlong' | 'shortstr' | 'longstr' | 'table' | 'timestamp';

/** Reads arguments one after another. */
export class FieldReader {
  readonly #bytes: Buffer;
  #at = 0;
  #bits = 0;
  #bitAt = 8;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  read(type: FieldType): AmqpValue {
    if (type === 'bit') return this.#bit();
    this.#bitAt = 8;
    if (type === 'octet') return this.#take(1).readUInt8();
    if (type === 'short') return this.#take(2).readUInt16BE();
    if (type === 'long') return this.#take(4).readUInt32BE();
    if (type === 'longlong' || type === 'timestamp') return Number(this.#take(8).readBigUInt64BE());
    if (type === 'shortstr') return this.#take(this.#take(1).readUInt8()).toString();
    if (type === 'longstr') return this.#take(this.#length()).toString();
    return this.#table(this.#take(this.#length()));
  }

  #length(): number {
    return this.#take(4).readUInt32BE();
  }

  #take(size: number): Buffer {
    if (this.#at + size > this.#bytes.length) throw new Error('The arguments end too early');
    this.#at += size;
    return this.#bytes.subarray(this.#at - size, this.#at);
  }

  #bit(): boolean {
    if (this.#bitAt > 7) {
      this.#bits = this.#take(1).readUInt8();
      this.#bitAt = 0;
    }
    const set = ((this.#bits >> this.#bitAt) & 1) === 1;
    this.#bitAt += 1;
    return set;
  }

  #table(bytes: Buffer): AmqpTable {
    const inner = new FieldReader(bytes);
    const table: Record<string, AmqpValue> = Object.create(null) as Record<string, AmqpValue>; // create gives any
    while (inner.#at < bytes.length) {
      const key = String(inner.read('shortstr'));
      table[key] = inner.#value();
    }
    return table;
  }

  #array(bytes: Buffer): AmqpValue[] {
    const inner = new FieldReader(bytes);
    const values: AmqpValue[] = [];
    while (inner.#at < bytes.length) values.push(inner.#value());
    return values;
  }

  #value(): AmqpValue {
    const type = String.fromCharCode(this.#take(1).readUInt8());
    const readers: Readonly<Record<string, () => AmqpValue>> = {
      t: () => this.#take(1).readUInt8() !== 0,
      b: () => this.#take(1).readInt8(),
      B: () => this.#take(1).readUInt8(),
      s: () => this.#take(2).readInt16BE(),
      u: () => this.#take(2).readUInt16BE(),
      I: () => this.#take(4).readInt32BE(),
      i: () => this.#take(4).readUInt32BE(),
      l: () => Number(this.#take(8).readBigInt64BE()),
      L: () => Number(this.#take(8).readBigInt64BE()),
      T: () => new Date(Number(this.#take(8).readBigUInt64BE()) * 1000),
      f: () => this.#take(4).readFloatBE(),
      d: () => this.#take(8).readDoubleBE(),
      S: () => this.#take(this.#length()).toString(),
      x: () => this.#take(this.#length()),
      A: () => this.#array(this.#take(this.#length())),
      F: () => this.#table(this.#take(this.#length())),
      V: () => null,
    };
    const read = readers[type];
    if (!read) throw new Error(`A table value of the unknown type ${type}`);
    return read();
  }
}

function integer(size: 1 | 2 | 4, value: number): Buffer {
  const bytes = Buffer.alloc(size);
  bytes.writeUIntBE(value, 0, size);
  return bytes;
}

function long64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}

function sized(bytes: Buffer): Buffer {
  return Buffer.concat([integer(4, bytes.length), bytes]);
}

function short(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([integer(1, bytes.length), bytes]);
}

function numberValue(value: number): Buffer {
  if (Number.isSafeInteger(value)) return Buffer.concat([Buffer.from('l'), long64(BigInt(value))]);
  const bytes = Buffer.alloc(9);
  bytes.write('d');
  bytes.writeDoubleBE(value, 1);
  return bytes;
}

function tableValue(value: AmqpValue): Buffer {
  if (value === null || value === undefined) return Buffer.from('V');
  if (typeof value === 'boolean') return Buffer.from([0x74, value ? 1 : 0]);
  if (typeof value === 'number') return numberValue(value);
  if (typeof value === 'bigint') return Buffer.concat([Buffer.from('L'), long64(value)]); // unsigned: not everybody's
  if (typeof value === 'string') return Buffer.concat([Buffer.from('S'), sized(Buffer.from(value))]);
  if (Buffer.isBuffer(value)) return Buffer.concat([Buffer.from('x'), sized(value)]);
  if (value instanceof Date)
    return Buffer.concat([Buffer.from('T'), long64(BigInt(Math.floor(value.getTime() / 1000)))]);
  if (Array.isArray(value))
    return Buffer.concat([Buffer.from('A'), sized(Buffer.concat(value.map(tableValue)))]);
  return Buffer.concat([Buffer.from('F'), tableBytes(value as AmqpTable)]); // the only objects left
}

function tableBytes(table: AmqpTable): Buffer {
  const entries = Object.entries(table).map(([key, value]) => Buffer.concat([short(key), tableValue(value)]));
  return sized(Buffer.concat(entries));
}

/** The bytes of one argument that is no bit. */
function fieldBytes(type: Exclude<FieldType, 'bit'>, value: AmqpValue): Buffer {
  if (type === 'octet') return integer(1, Number(value ?? 0));
  if (type === 'short') return integer(2, Number(value ?? 0));
  if (type === 'long') return integer(4, Number(value ?? 0));
  if (type === 'longlong' || type === 'timestamp') return long64(BigInt(Number(value ?? 0)));
  if (type === 'shortstr') return short(typeof value === 'string' ? value : '');
  if (type === 'longstr') return sized(Buffer.from(typeof value === 'string' ? value : ''));
  return tableBytes((value ?? {}) as AmqpTable); // a table is an object or missing
}

/** The bytes of arguments of these types; one that is missing is 0, false, empty. */
export function writeFields(fields: readonly (readonly [FieldType, AmqpValue])[]): Buffer {
  const parts: Buffer[] = [];
  let bits: number[] | undefined;
  for (const [type, value] of fields) {
    if (type !== 'bit') {
      bits = undefined;
      parts.push(fieldBytes(type, value));
      continue;
    }
    if (!bits || bits.length === 8) {
      bits = [];
      parts.push(Buffer.alloc(1));
    }
    const byte = parts[parts.length - 1];
    if (byte && value === true) byte[0] = (byte[0] ?? 0) | (1 << bits.length);
    bits.push(1);
  }
  return Buffer.concat(parts);
}

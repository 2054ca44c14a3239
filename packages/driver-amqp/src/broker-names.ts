import { createHash } from 'node:crypto';

/** AMQP's short string, in bytes of UTF-8. */
const MOST_BYTES = 255;
/** How an encoded name begins. A name that begins so by itself is encoded too, so that no two names become one. */
const MARK = '%ebbgate:';
/** RabbitMQ deletes line ends from names: two names would become one. Lone surrogates have no UTF-8. */
const UNHOLDABLE = /[\r\n]|\p{Cs}/u;
/** As a word of a binding key they stand for any word, or any words: `a.*` would receive what is for `a.b`. */
const WILDCARD_WORD = /(?:^|\.)[*#](?:\.|$)/;
/** Reserved: declaring one is refused. The exchange of that name is there already, and oslo.messaging can use it. */
const RESERVED = /^amq\.(?!topic$)/;
const READABLE_LENGTH = 100;

/**
 * The name of an exchange or queue, or a routing key, as the broker gets it: the very same text for every name that
 * RabbitMQ holds and takes for nothing else, as oslo.messaging's peers expect it. Else a readable piece of it and its
 * hash, which is the same in every process.
 */
export function brokerName(name: string): string {
  return isHoldable(name) ? name : encoded(name);
}

/** Can AMQP carry the name at all? */
export function fitsShortString(name: string): boolean {
  return Buffer.byteLength(name) <= MOST_BYTES;
}

function isHoldable(name: string): boolean {
  return (
    name !== '' &&
    fitsShortString(name) &&
    !UNHOLDABLE.test(name) &&
    !WILDCARD_WORD.test(name) &&
    !RESERVED.test(name) &&
    !name.startsWith(MARK)
  );
}

function encoded(name: string): string {
  const readable = name.slice(0, READABLE_LENGTH).replace(/[^\w-]/g, '_');
  // In UTF-16: the UTF-8 of all lone surrogates is the same.
  return `${MARK}${readable}:${createHash('sha256').update(name, 'utf16le').digest('hex')}`;
}

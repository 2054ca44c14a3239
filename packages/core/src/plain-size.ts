import type { PlainValue } from './plain-value.js';

/** What a number takes on average: the estimate is for limits on buffers, not for accounts. */
const NUMBER_SIZE = 8;

/**
 * About how many bytes the value has as JSON text, counting a character outside ASCII, or one that needs an escape,
 * as one. Costs about half of a copy.
 */
export function estimateSize(value: PlainValue): number {
  switch (typeof value) {
    case 'string':
      return value.length + 2;
    case 'number':
      return NUMBER_SIZE;
    case 'boolean':
      return 5;
    case 'bigint':
      return value.toString().length;
    default:
      return value === null ? 4 : sizeOfContainer(value);
  }
}

function sizeOfContainer(value: Extract<PlainValue, object>): number {
  let size = 2;
  if (Array.isArray(value)) {
    for (const element of value) size += estimateSize(element) + 1;
    return size;
  }
  for (const key in value) {
    const member = value[key];
    if (member !== undefined) size += key.length + 4 + estimateSize(member);
  }
  return size;
}

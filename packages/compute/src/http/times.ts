import { secondsText } from '../objects/seconds-text.js';

const MINUTE_MS = 60_000;
/** The minute that was written last, as it is written: what is listed has mostly happened in the same. */
let lastMinute = { number: 0, text: '1970-01-01T00:00:' };

/** As Python's `datetime` writes it: with microseconds, without a zone. */
export function timeText(atMs: number): string {
  const wholeMs = Math.trunc(atMs);
  const number = Math.floor(wholeMs / MINUTE_MS);
  if (number !== lastMinute.number)
    lastMinute = { number, text: new Date(number * MINUTE_MS).toISOString().slice(0, -'00.000Z'.length) };
  const digits = String(wholeMs - number * MINUTE_MS).padStart(5, '0');
  return `${lastMinute.text}${digits.slice(0, 2)}.${digits.slice(2)}000`;
}

/** The same of a moment that may not have come. */
export function timeOrNull(at: Date | null | undefined): string | null {
  return at ? timeText(at.getTime()) : null;
}

/** As upstream's `isotime`: to the second. */
export function isoText(at: Date | null | undefined): string {
  return secondsText(at ?? new Date(0));
}

import { secondsText } from '../objects/seconds-text.js';

/** As Python's `datetime` writes it: with microseconds, without a zone. */
export function timeText(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, -1)}000`;
}

/** The same of a moment that may not have come. */
export function timeOrNull(at: Date | null | undefined): string | null {
  return at ? timeText(at.getTime()) : null;
}

/** As upstream's `isotime`: to the second. */
export function isoText(at: Date | null | undefined): string {
  return secondsText(at ?? new Date(0));
}

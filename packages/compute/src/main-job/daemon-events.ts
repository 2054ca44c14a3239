import type { SentMessage } from './job-cloud.js';
import type { HostEvent } from './job-events.js';

/** What a daemon prints with `--events`, one JSON object a line. */
export type DaemonEvent =
  | HostEvent
  /** It is about to send a message to a host. */
  | ({ readonly kind: 'sent' } & SentMessage)
  /** A record has changed: the object as it is on the wire. */
  | { readonly kind: 'record'; readonly record: unknown }
  /** The API listens there. */
  | { readonly kind: 'listens'; readonly host: string; readonly port: number }
  /** The daemon serves. */
  | { readonly kind: 'serves' };

export function daemonLine(event: DaemonEvent): string {
  return `${JSON.stringify(event)}\n`;
}

/** Reads such a line; undefined for what is none. */
export function readDaemonLine(line: string): DaemonEvent | undefined {
  if (!line.startsWith('{"kind":')) return undefined;
  return JSON.parse(line) as DaemonEvent; // it comes from a process of this very program
}

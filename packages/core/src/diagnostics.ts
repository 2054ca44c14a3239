import { channel, type Channel } from 'node:diagnostics_channel';

/**
 * Channels of `node:diagnostics_channel` on which the framework publishes; tracing and metrics need no other hook.
 * A channel without a subscriber costs one look. Payloads hold names, ids, sizes and outcomes, never content.
 */
export const diagnostics: {
  /** {@link MessageDiagnostic}: a message was taken by the broker. */
  readonly published: Channel;
  /** {@link MessageDiagnostic}: the broker did not take a message, or did not say so. */
  readonly publishFailed: Channel;
  /** {@link ServerDiagnostic}: a message was handed to the handler, or why it was not. */
  readonly handled: Channel;
  /** `{ url, state, cause }`: the connection of a driver changed its state; the URL is without credentials. */
  readonly connection: Channel;
} = Object.freeze({
  published: channel('ebbgate.message.published'),
  publishFailed: channel('ebbgate.message.publish-failed'),
  handled: channel('ebbgate.server.handled'),
  connection: channel('ebbgate.connection'),
});

/** One message that was sent. */
export interface MessageDiagnostic {
  /** Its id. */
  readonly messageId: string | undefined;
  /** Where it goes: a topic, a server, a fanout or a reply address. */
  readonly destination: object;
  /** Of its body, in bytes; estimated where no byte leaves the process. */
  readonly size: number;
  /** Why it was not sent; absent when it was. */
  readonly error?: unknown;
}

/** Why a message was not given to its handler, or that it was. */
export type HandledAs = 'run' | 'expired' | 'duplicate' | 'malformed' | 'released' | 'gone';

/** One message that a server took up. */
export interface ServerDiagnostic {
  /** Its id, when it has one. */
  readonly messageId: string | undefined;
  /** The topic that this server listens to. */
  readonly topic: string;
  /** The server that got it. */
  readonly server: string;
  /** What became of it. */
  readonly as: HandledAs;
}

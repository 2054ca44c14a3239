import { channel, type Channel } from 'node:diagnostics_channel';
import { MessagingError, type RequestContext, type Target } from '@ebbgate/core';

/** Channels of `node:diagnostics_channel` for calls; a channel without a subscriber costs one look. */
export const rpcDiagnostics: {
  /** {@link CallDiagnostic}: a call or cast has settled on the client's side. */
  readonly client: Channel;
  /** {@link CallDiagnostic}: a request has been handled on the server's side. */
  readonly server: Channel;
} = Object.freeze({ client: channel('ebbgate.rpc.client'), server: channel('ebbgate.rpc.server') });

/** One call or cast, its own names and its own outcome (CORE-12); never an argument or a result. */
export interface CallDiagnostic {
  /** Whether an answer is waited for. */
  readonly kind: 'call' | 'cast';
  /** Its name. */
  readonly method: string;
  /** Of its target. */
  readonly exchange: string | undefined;
  /** Of its target. */
  readonly topic: string | undefined;
  /** Of its target. */
  readonly server: string | undefined;
  /** Of its context. */
  readonly requestId: string | undefined;
  /** From the call to its outcome. */
  readonly durationMs: number;
  /** Whether it failed. */
  readonly outcome: 'ok' | 'error';
  /** The `code` of an error of the family; undefined for others. */
  readonly code: string | undefined;
  /** What it failed with; undefined when it did not. */
  readonly error: unknown;
}

interface Observed {
  readonly kind: 'call' | 'cast';
  readonly method: string;
  readonly target: Pick<Target, 'exchange' | 'topic' | 'server'>;
  readonly context: RequestContext;
}

/** Runs `work` and tells how it ended. */
export async function observeCall<T>(
  call: Observed,
  work: () => T | Promise<T>,
  to: Channel = rpcDiagnostics.client,
): Promise<T> {
  const startedAt = performance.now();
  const tell = (outcome: 'ok' | 'error', error?: unknown): void => {
    const { exchange, topic, server } = call.target;
    const diagnostic: CallDiagnostic = {
      kind: call.kind,
      method: call.method,
      exchange,
      topic,
      server,
      requestId: call.context.requestId,
      durationMs: performance.now() - startedAt,
      outcome,
      code: codeOf(error),
      error,
    };
    to.publish(diagnostic);
  };
  try {
    const result = await work();
    tell('ok');
    return result;
  } catch (error) {
    tell('error', error);
    throw error;
  }
}

/** What is thrown may be anything, and refuse to be looked at. */
function codeOf(error: unknown): string | undefined {
  try {
    return error instanceof MessagingError ? error.code : undefined;
  } catch {
    return undefined;
  }
}

import type { Logger } from '@ebbgate/core';
import type { ClientInterceptor } from '@ebbgate/rpc';
import { pino } from 'pino';
import { type DaemonEvent, daemonLine } from '../main-job/daemon-events.js';
import type { ComputeApiOptions } from '../rpc/compute-api.js';
import type { DaemonOptions } from './daemon-options.js';

/** Secrets that could be in what is logged. */
const REDACT = ['*.password', '*.admin_password', '*.url'];

/** Logs go to stderr, so that what is printed stays readable by machines; at once, as the process may end with them. */
export function stderrLog(level: DaemonOptions['logLevel']): Logger {
  return pino({ level, redact: REDACT }, pino.destination({ fd: 2, sync: true }));
}

/** Prints events when they are asked for, as long as somebody reads them. */
export function eventPrinter({ events }: DaemonOptions): (event: DaemonEvent) => void {
  if (!events) return () => undefined;
  process.stdout.on('error', () => undefined);
  return (event) => void process.stdout.write(daemonLine(event));
}

/** How the daemon calls hosts; each message is told before it is sent. */
export function apiOptions(options: DaemonOptions, print: (event: DaemonEvent) => void): ComputeApiOptions {
  const tell: ClientInterceptor = async (call, next) => {
    print({
      kind: 'sent',
      topic: call.target.topic ?? '',
      host: call.target.server ?? '',
      method: call.method,
    });
    return next(call);
  };
  return {
    rpcTimeoutMs: options.rpcResponseTimeout * 1000,
    versionCap: options.computeVersionCap,
    readVersionCap: options.readVersionCap,
    topics: options.topics,
    ...(options.opsTopic !== undefined && { opsTopic: options.opsTopic }),
    ...(options.events && { interceptors: [tell] }),
  };
}

/**
 * Without its parent there is nobody that this daemon drains for: it ends as by SIGINT during a drain. Called last, as
 * listening keeps the process alive.
 */
export function endWithParent({ endWithParent: wanted }: DaemonOptions): void {
  if (!wanted) return;
  const end = (): void => {
    process.kill(process.pid, 'SIGTERM');
    process.kill(process.pid, 'SIGINT');
  };
  whenParentEnds(end);
}

/** Does this once the parent has ended, at once when it already has; gives what takes that back. */
export function whenParentEnds(act: () => void): () => void {
  const channel: unknown = process.channel; // null once it is closed, which its type does not tell
  if (process.connected) process.once('disconnect', act);
  else if (channel === null) act();
  return () => void process.off('disconnect', act);
}

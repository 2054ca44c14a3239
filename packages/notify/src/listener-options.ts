import {
  checkMethods,
  checkMs,
  checkWhole,
  ConfigurationError,
  type MessageServerOptions,
  refuseUnknown,
  type Serializer,
  serializerMethods,
} from '@ebbgate/core';
import type { BatchOptions } from './batch-collector.js';

/** How often and when a notification that was handed back comes again. */
export interface RequeueSettings {
  /** Most times that a notification is handed back here; default 10, 0 for never. */
  readonly maxRequeues: number;
  /** Before it comes again for the first time; default 100. Twice as long each time after that. */
  readonly requeueDelayMs: number;
  /** The longest of these times; default 10000. */
  readonly maxRequeueDelayMs: number;
  /**
   * A topic for notifications that were handed back too often: they go to its queue `<topic>.<priority>`, and a listener
   * can fetch them there. Without one they are rejected, and kept by the broker only if its queues have a dead-letter
   * exchange.
   */
  readonly deadLetterTopic: string | undefined;
}

/** How a listener is made. All may be left out. */
export interface NotificationListenerOptions
  extends Omit<MessageServerOptions, 'fetched'>, Partial<RequeueSettings> {
  /** A queue of its own for all listeners of this name: each pool gets a copy of what is sent from its first start on. */
  readonly pool?: string;
  /** The pool is this listener's alone, and goes with it; default false. */
  readonly ephemeral?: boolean;
  /** Notifications are handled in batches: the methods of endpoints get arrays. */
  readonly batch?: BatchOptions;
  /** For contexts and payloads; default: plain values as they are. */
  readonly serializer?: Serializer;
}

/** As a record, so that the compiler says when one is missing. */
const OPTIONS: Readonly<Record<keyof NotificationListenerOptions, true>> = {
  pool: true,
  ephemeral: true,
  batch: true,
  serializer: true,
  maxRequeues: true,
  requeueDelayMs: true,
  maxRequeueDelayMs: true,
  deadLetterTopic: true,
  slots: true,
  prefetch: true,
  duplicateWindow: true,
  stallMs: true,
  maxHeldMs: true,
};

/** Checked and complete. */
export interface CheckedListenerOptions {
  readonly pool: string | undefined;
  readonly ephemeral: boolean;
  readonly batch: Required<BatchOptions> | undefined;
  readonly serializer: Serializer | undefined;
  readonly requeue: RequeueSettings;
  readonly server: MessageServerOptions;
}

/** @throws ConfigurationError (`ERR_CONFIGURATION`) with the name, the value and what would be right */
export function checkListenerOptions(options: NotificationListenerOptions): CheckedListenerOptions {
  refuseUnknown(options, Object.keys(OPTIONS));
  const { pool, ephemeral = false, batch, serializer, deadLetterTopic, ...rest } = options;
  const { maxRequeues = 10, requeueDelayMs = 100, maxRequeueDelayMs = 10_000, ...server } = rest;
  checkMethods('serializer', serializer, serializerMethods);
  if (ephemeral && pool === undefined)
    throw new ConfigurationError('ephemeral is for a pool: give its name, too');
  return {
    pool: optionalName('pool', pool),
    ephemeral,
    batch: batch && checkBatch(batch, server),
    serializer,
    requeue: {
      maxRequeues: checkWhole('maxRequeues', maxRequeues, 0),
      requeueDelayMs: checkMs('requeueDelayMs', requeueDelayMs),
      maxRequeueDelayMs: checkMs('maxRequeueDelayMs', maxRequeueDelayMs),
      deadLetterTopic: optionalName('deadLetterTopic', deadLetterTopic),
    },
    server: { ...server, ...(batch && { slots: batch.size, prefetch: batch.size }), fetched: 'release' },
  };
}

/** A batch fills all slots, and the next one waits fetched behind it. */
function checkBatch(batch: BatchOptions, server: MessageServerOptions): Required<BatchOptions> {
  refuseUnknown(batch, ['size', 'timeoutMs']);
  const given = (['slots', 'prefetch'] as const).find((name) => server[name] !== undefined);
  if (given !== undefined)
    throw new ConfigurationError(`With batch there is no ${given}: its size says both`);
  return {
    size: checkWhole('batch.size', batch.size, 1),
    timeoutMs: checkMs('batch.timeoutMs', batch.timeoutMs ?? 1000),
  };
}

function optionalName(option: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string' && value !== '') return value;
  throw new ConfigurationError(`${option} must be a name`);
}

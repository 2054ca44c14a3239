export { Backoff, type BackoffSettings } from './backoff.js';
export { addContext, contextSize, copyContext, ownContext, readContext } from './context-members.js';
export { createTransport } from './create-transport.js';
export { Deadline } from './deadline.js';
export { diagnostics, type HandledAs, type MessageDiagnostic, type ServerDiagnostic } from './diagnostics.js';
export type {
  ConnectionState,
  Delivery,
  Destination,
  Driver,
  DriverContext,
  DriverEvents,
  DriverFactory,
  DriverStatus,
  FanoutDestination,
  Listener,
  ListenerStatus,
  ListenOptions,
  MaybePromise,
  NotificationDestination,
  NotificationSource,
  PublishOptions,
  ReplyDestination,
  ReplyQueue,
  ServerDestination,
  ServerSource,
  Source,
  TopicDestination,
} from './driver.js';
export { baseScheme, driverForUrl } from './driver-for-url.js';
export { driversAmong } from './drivers-among.js';
export { decodeEnvelopedObject, readEnvelope, readEnvelopedObject, wrapEnvelope } from './envelope.js';
export {
  AuthenticationError,
  BackpressureError,
  ConfigurationError,
  DriverLoadError,
  InvalidTargetError,
  InvalidTransportUrlError,
  MessageDeliveryError,
  MessageUndeliverableError,
  MessagingError,
  type MessagingErrorOptions,
  MessagingTimeoutError,
  type Outcome,
  SerializationError,
  ServerListenError,
  ServerWaitTimeoutError,
  TransportClosedError,
} from './errors.js';
export { EventLoopWatch } from './event-loop-watch.js';
export { TypedEvents } from './events.js';
export type { DriverFeatures } from './features.js';
export { secretId, uniqueId } from './ids.js';
export { decodeJson, encodeJson, encodePlain } from './json.js';
export { checkFunctions, checkMethods, checkWhole, refuseUnknown } from './known-options.js';
export type { ServerState } from './lifecycle.js';
export { type BodyForm, decodeEnvelopedBytes, LocalBody } from './local-body.js';
export { checkLogger, type Logger, silentLogger } from './logger.js';
export { memoryDriver } from './memory/driver.js';
export { memoryFaults, type MemoryFaults } from './memory/faults.js';
export type { LateHandler, MessageHandler, Verdict } from './message-handler.js';
export type { MessageServerOptions } from './message-server-options.js';
export { MessageServer, type ServerCounts, type WaitReport } from './message-server.js';
export { onAbort } from './on-abort.js';
export { bytesBody, type MessageBody, type WireMessage } from './message.js';
export { copyPlain, toPlain } from './plain-copy.js';
export type { PlainLimits, ReadLimits } from './plain-limits.js';
export { estimateSize } from './plain-size.js';
export { type PlainObject, type PlainValue, setMember } from './plain-value.js';
export { errorText, redactedCause, redactText } from './redact.js';
export { redactMembers } from './redact-members.js';
export {
  type CallerContext,
  contextOf,
  type ContextValues,
  currentContext,
  RequestContext,
  runWithContext,
} from './request-context.js';
export { RetryPause } from './retry-pause.js';
export { type FoundIssue, type SchemaIssue, schemaIssues } from './schema-issues.js';
export {
  JsonPayloadSerializer,
  noOpSerializer,
  type SerializedContext,
  type Serializer,
  serializerMethods,
} from './serializer.js';
export { type SourceNames, sourceNames } from './source-names.js';
export type { Tail, TailedMessage, TailHooks, TailSource } from './tail.js';
export { Target, type TargetOptions } from './target.js';
export { isThenable } from './thenable.js';
export { TimerEntry, TimerWheel, timers } from './timer-wheel.js';
export { TransportHost, type TransportHostParts } from './transport-host.js';
export { TransportQuery } from './transport-query.js';
export { TransportUrl, type TransportUrlParts } from './transport-url.js';
export { Transport, type TransportState } from './transport.js';
export type { DroppedMessage, TransportEvents } from './transport-events.js';
export type { TransportOptions } from './transport-options.js';
export { checkMs, within, type WaitOptions } from './within.js';

import { type Logger, redactedCause } from '@ebbgate/core';
import type { ChannelModel } from 'amqplib';
import { isRefused } from '../broker-errors.js';
import { type ConnectionHooks, type Dialect, HeldConnection } from '../held-connection.js';
import type { RabbitSettings } from '../options.js';
import { rawConnection } from './amqplib-parts.js';
import { installFastCodec } from './fast-codec.js';
import { keepHeartbeatPace } from './heartbeat-pace.js';
import { closeInTime, endSocket } from './model-socket.js';
import { openInTime } from './open-model.js';
import { TurnWriter } from './turn-writer.js';

/** What comes and goes with a connection of amqplib: channels and all that stands on them. */
export type BrokerConnection = HeldConnection<ChannelModel>;

/** A connection by amqplib that comes back by itself. */
export function brokerConnection(
  role: 'publish' | 'consume',
  settings: RabbitSettings,
  logger: Logger,
  hooks: ConnectionHooks,
): BrokerConnection {
  const dialect: Dialect<ChannelModel> = {
    open: (host, signal) => openInTime(settings, host, role, signal),
    lost: (model, onBlocked) => lost(model, onBlocked, logger, role),
    close: closeInTime,
    end: (model) => {
      endSocket(rawConnection(model).stream);
    },
    isRefused,
  };
  return new HeldConnection(role, settings, logger, hooks, dialect);
}

/**
 * Watches it from its first moment; whatever comes of it is no uncaught error. Resolves without a detour: whoever fails with the
 * connection is to find it gone.
 */
function lost(
  model: ChannelModel,
  onBlocked: (cause: Error | undefined) => void,
  logger: Logger,
  role: string,
): Promise<Error | undefined> {
  const connection = rawConnection(model);
  const socket = connection.stream;
  const isBlocked = (): void => {
    onBlocked(new Error('The broker takes no messages: a resource alarm is set'));
  };
  model.on('handler-error', (error) => {
    logger.error({ err: redactedCause(error), role }, 'A handler of the connection failed');
  });
  model.on('blocked', isBlocked);
  model.on('unblocked', () => {
    onBlocked(undefined);
  });
  installFastCodec(model, new TurnWriter(socket));
  const endPace = keepHeartbeatPace(connection);
  if (connection.blocked) isBlocked(); // by what came with the last answer
  return new Promise((resolve) => {
    const onLost = (cause?: Error): void => {
      endPace();
      resolve(cause);
      endSocket(socket); // a peer that is dead would never end it
    };
    model.on('error', onLost);
    model.on('close', onLost);
    socket.on('close', () => {
      onLost();
    });
  });
}

import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ChannelModel } from 'amqplib';
import type { RabbitHost, RabbitSettings } from '../options.js';
import { tlsOptions } from '../tls.js';
import { amqplibParts, type RawConnection } from './amqplib-parts.js';
import { handshakeFields } from './handshake.js';
import { endSocket } from './model-socket.js';

/** {@link openModel} within `connectTimeoutMs`, and while `whileOpen` is not aborted. */
export async function openInTime(
  settings: RabbitSettings,
  host: RabbitHost,
  role: string,
  whileOpen: AbortSignal,
): Promise<ChannelModel> {
  const attempt = new AbortController();
  const onClosed = (): void => {
    attempt.abort(whileOpen.reason);
  };
  const limit = setTimeout(() => {
    attempt.abort(
      new Error(`no connection within ${String(settings.connectTimeoutMs)} ms (connect_timeout)`),
    );
  }, settings.connectTimeoutMs);
  whileOpen.addEventListener('abort', onClosed);
  try {
    return await openModel(settings, host, role, attempt.signal);
  } finally {
    clearTimeout(limit);
    whileOpen.removeEventListener('abort', onClosed);
  }
}

/**
 * One attempt to connect to one host: TCP, TLS where asked for, login. Rejects with what went wrong first, with the reason
 * of the signal when it aborts. Nothing is left of an attempt that has failed, and nothing that the broker sends at any
 * moment of it is an uncaught error.
 */
function openModel(
  settings: RabbitSettings,
  host: RabbitHost,
  role: string,
  signal: AbortSignal,
): Promise<ChannelModel> {
  const fields = handshakeFields(settings, host, role);
  const socket = openSocket(settings, host);
  return new Promise((resolve, reject) => {
    let failure: unknown;
    const fail = (error: unknown): void => {
      failure ??= error;
      signal.removeEventListener('abort', onAbort);
      endSocket(socket);
      reject(failure instanceof Error ? failure : new Error(String(failure)));
    };
    const onAbort = (): void => {
      fail(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    socket.on('error', fail);
    socket.once(settings.ssl ? 'secureConnect' : 'connect', () => {
      socket.setNoDelay(true);
      const connection = new amqplibParts.Connection(socket);
      connection.on('error', (error: unknown) => (failure ??= error));
      connection.on('close', (error: unknown) => (failure ??= error ?? new Error('Closed by the broker')));
      const endWatch = watchClose(connection, (error) => (failure ??= error));
      const onOpened = (error: Error | null): void => {
        if (error ?? failure) fail(otherProtocol(connection) ?? error);
        else {
          endWatch();
          signal.removeEventListener('abort', onAbort);
          socket.off('error', fail); // amqplib listens from here on
          resolve(new amqplibParts.ChannelModel(connection));
        }
      };
      try {
        connection.open(fields, onOpened);
      } catch (error) {
        fail(error);
      }
    });
    if (signal.aborted) onAbort();
  });
}

function openSocket(settings: RabbitSettings, host: RabbitHost): Socket {
  const { hostname, port } = host;
  if (!settings.ssl) return connectTcp({ host: hostname, port });
  return connectTls({ host: hostname, port, ...tlsOptions(settings, host) });
}

/** Class 10, method 50. */
const CONNECTION_CLOSE = (10 << 16) + 50;

/** Tells of a `connection.close`, of which amqplib loses the reason in the later part of the handshake. */
function watchClose(connection: RawConnection, onClose: (error: Error) => void): () => void {
  const receive = connection.recvFrame.bind(connection);
  connection.recvFrame = () => {
    const frame = receive();
    if (frame !== false && frame.id === CONNECTION_CLOSE) {
      const { replyCode, replyText } = frame.fields ?? {};
      const error = new Error(`Connection closed by server: ${String(replyCode)} ${String(replyText)}`);
      onClose(Object.assign(error, { code: replyCode }));
    }
    return frame;
  };
  return () => {
    connection.recvFrame = receive;
  };
}

/** A broker of another version answers with its own header (AMQP 0-9-1, 4.2.2), which is no frame. */
function otherProtocol({ rest }: RawConnection): Error | undefined {
  if (rest.toString('latin1', 0, 4) !== 'AMQP') return undefined;
  const version = [...rest.subarray(4, 8)].join('.');
  return new Error(`The broker does not speak AMQP 0-9-1: it answered with the header AMQP ${version}`);
}

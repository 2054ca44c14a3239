import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { secretId } from '@ebbgate/core';
import rhea, { type Connection, type EventContext } from 'rhea';
import type { RabbitHost } from '../options.js';
import { tlsOptions } from '../tls.js';
import { detectedForm, FORMS } from './address-form.js';
import type { Amqp10Settings } from './options.js';
import { PeerConnection } from './peer-connection.js';
import { PeerError, peerError } from './peer-errors.js';
import { isLoginUnanswered } from './rhea-parts.js';

/** Largest frame that we read: longer messages come in pieces. */
const FRAME_MAX = 131_072;
/** RabbitMQ 3 says nothing to a wrong password for three seconds, and then ends the connection. */
const SILENT_REFUSAL_MS = 2_500;

/**
 * One attempt to connect to one host: TCP, TLS where asked for, login, open. Rejects with what went wrong first, with the
 * reason of the signal when it aborts. Nothing is left of an attempt that has failed.
 */
export async function openPeer(
  settings: Amqp10Settings,
  host: RabbitHost,
  signal: AbortSignal,
): Promise<PeerConnection> {
  const limit = AbortSignal.timeout(settings.connectTimeoutMs);
  const either = AbortSignal.any([signal, limit]);
  const socket = openSocket(settings, host);
  const connection = newConnection(settings, host, socket);
  try {
    await opened(connection, socket, either);
    const form =
      settings.addressForm === 'auto' ? detectedForm(connection.properties) : FORMS[settings.addressForm];
    if (!form)
      throw new Error('It says of itself that it is no RabbitMQ; set address_form=plain for other brokers');
    return new PeerConnection(connection, socket, host, form);
  } catch (error) {
    if (!socket.destroyed) socket.destroy(new Error('closed')); // with an error: else rhea goes on with its heartbeats
    if (limit.aborted)
      throw new Error(`no connection within ${String(settings.connectTimeoutMs)} ms (connect_timeout)`, {
        cause: error,
      });
    throw error;
  }
}

function openSocket(settings: Amqp10Settings, host: RabbitHost): Socket {
  const { hostname, port } = host;
  const socket = settings.ssl
    ? connectTls({ host: hostname, port, ...tlsOptions(settings, host) })
    : connectTcp({ host: hostname, port });
  socket.on('error', () => undefined); // rhea listens too, until it has done with the socket
  return socket;
}

/** For links that the peer begins: else rhea grants them credit, and accepts what comes by them. */
const OF_STRANGERS = { receiver_options: { credit_window: 0, autoaccept: false } };

function newConnection(settings: Amqp10Settings, host: RabbitHost, socket: Socket): Connection {
  const container = rhea.create_container({ id: `ebbgate-${secretId()}` });
  container.on('error', () => undefined); // of links and sessions; whoever has them hears of it
  const connection = container.create_connection({
    host: host.hostname,
    port: host.port,
    hostname: virtualHostName(settings, host),
    reconnect: false,
    max_frame_size: FRAME_MAX,
    ...(settings.heartbeatS > 0 && { idle_time_out: settings.heartbeatS * 1000 }),
    connection_details: () => ({
      host: host.hostname,
      port: host.port,
      connect: (_port: number, _host: string, _options: unknown, onConnected: () => void) => {
        socket.once(settings.ssl ? 'secureConnect' : 'connect', () => {
          socket.setNoDelay(true);
          onConnected();
        });
        return socket;
      },
    }),
    ...OF_STRANGERS,
    ...({ sasl_mechanisms: mechanisms(settings, host) } as object), // rhea reads it; its types leave it out
  });
  refuseLinks(connection);
  guard(connection);
  connection.connect();
  return connection;
}

/** An event that nobody hears would end the process, or be written to the console. */
function guard(connection: Connection): void {
  for (const event of ['error', 'protocol_error', 'connection_error', 'connection_close', 'disconnected'])
    connection.on(event, () => undefined);
}

/** What the peer begins by itself is nothing of ours; our own links have listeners of their own. */
function refuseLinks(connection: Connection): void {
  const refusal = { condition: 'amqp:not-allowed', description: 'This client takes no links' };
  connection.on('receiver_open', ({ receiver }: EventContext) => receiver?.close(refusal));
  connection.on('sender_open', ({ sender }: EventContext) => sender?.close(refusal));
}

/** RabbitMQ has virtual hosts by this prefix; others by the plain name, as TLS and HTTP have it. */
function virtualHostName(settings: Amqp10Settings, { hostname }: RabbitHost): string {
  if (settings.addressForm !== 'plain') return `vhost:${settings.virtualHost}`;
  return settings.givenVirtualHost === undefined || settings.givenVirtualHost === ''
    ? hostname
    : settings.givenVirtualHost;
}

function mechanisms({ sasl }: Amqp10Settings, { username, password }: RabbitHost): unknown {
  if (sasl === 'PLAIN') return { PLAIN: () => new PlainLogin(username, password) };
  const offered = rhea.sasl.client_mechanisms();
  if (sasl === 'EXTERNAL') offered.enable_external();
  else offered.enable_anonymous('anonymous');
  return offered;
}

/** As that of rhea, which counts characters where it sends bytes, and so cuts off all that is not ASCII. */
class PlainLogin {
  readonly #response: Buffer;

  constructor(username: string, password: string) {
    this.#response = Buffer.from(`\0${username}\0${password}`);
  }

  start(callback: (error: undefined, response: Buffer) => void): void {
    callback(undefined, this.#response);
  }
}

/** Resolves when the peer has opened the connection. */
function opened(connection: Connection, socket: Socket, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    let failure: Error | undefined;
    const fail = (error: unknown): void => {
      failure ??= peerError(error);
      signal.removeEventListener('abort', onAbort);
      reject(failure ?? new Error('Closed by the peer'));
    };
    const onAbort = (): void => {
      fail(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    connection.on('connection_open', () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
    connection.on('protocol_error', (error: unknown) => {
      fail(otherProtocol(error));
    });
    connection.on('error', fail);
    connection.on('connection_error', (context: EventContext) => {
      fail(context.error);
    });
    const loginMs = performance.now();
    socket.on('error', fail);
    socket.on('end', () => {
      if (isLoginUnanswered(connection) && performance.now() - loginMs >= SILENT_REFUSAL_MS)
        fail(new PeerError('amqp:unauthorized-access', 'the login was answered by silence, and the end'));
    });
    socket.on('close', () => {
      fail(undefined);
    });
    if (signal.aborted) onAbort();
  });
}

function otherProtocol(cause: unknown): Error {
  const why = cause instanceof Error ? cause.message : 'it sent something else';
  return new Error(
    `The broker does not speak AMQP 1.0 here (${why}); RabbitMQ 3 does with its plugin rabbitmq_amqp1_0`,
    {
      cause,
    },
  );
}

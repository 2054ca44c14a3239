import { basename } from 'node:path';
import { argv, pid, version } from 'node:process';
import { secretId } from '@ebbgate/core';
import { credentials } from 'amqplib';
import type { RabbitHost, RabbitSettings } from '../options.js';
import type { HandshakeFields } from './amqplib-parts.js';

/** Largest frame that is offered, and read: RabbitMQ's own default, well above the least that RabbitMQ 4 takes (8192). */
const FRAME_MAX = 131_072;

/** What we can do, told to the broker: as amqplib does, and oslo.messaging where both know it. */
const CAPABILITIES: Readonly<Record<string, boolean>> = Object.freeze({
  publisher_confirms: true,
  exchange_exchange_bindings: true,
  'basic.nack': true,
  consumer_cancel_notify: true,
  'connection.blocked': true,
  authentication_failure_close: true,
});

/** All that is said in the handshake. */
export function handshakeFields(settings: RabbitSettings, host: RabbitHost, role: string): HandshakeFields {
  const { mechanism, response } = loginCredentials(settings, host);
  return {
    clientProperties: clientProperties(role),
    mechanism,
    response: response(),
    locale: 'en_US',
    channelMax: 0,
    frameMax: FRAME_MAX,
    heartbeat: settings.heartbeatS,
    maxFrameSize: FRAME_MAX,
    virtualHost: settings.virtualHost,
    capabilities: '',
    insist: 0,
  };
}

/** What the broker shows of a connection, as oslo.messaging names its own: program, process, and a part of chance. */
function clientProperties(role: string): Record<string, unknown> {
  const program = basename(argv[1] ?? 'node');
  return {
    product: 'ebbgate',
    platform: `Node.js ${version}`,
    capabilities: CAPABILITIES,
    connection_name: `${program}:${String(pid)}:${role}:${secretId().slice(0, 8)}`,
  };
}

/** The SASL mechanism and its answer. */
function loginCredentials(
  settings: RabbitSettings,
  host: RabbitHost,
): { readonly mechanism: string; readonly response: () => Buffer } {
  const { username, password } = host;
  switch (settings.loginMethod) {
    case 'PLAIN':
      return credentials.plain(username, password);
    case 'EXTERNAL':
      return credentials.external();
    case 'AMQPLAIN':
      return credentials.amqplain(username, password);
  }
}

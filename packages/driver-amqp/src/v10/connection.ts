import type { Logger } from '@ebbgate/core';
import { type ConnectionHooks, HeldConnection } from '../held-connection.js';
import { openPeer } from './open-peer.js';
import type { Amqp10Settings } from './options.js';
import type { PeerConnection } from './peer-connection.js';
import { isRefused } from './peer-errors.js';

/** A connection by rhea that comes back by itself. */
export function heldPeer(
  role: 'publish' | 'consume',
  settings: Amqp10Settings,
  logger: Logger,
  hooks: ConnectionHooks,
): HeldConnection<PeerConnection> {
  return new HeldConnection<PeerConnection>(role, settings, logger, hooks, {
    open: (host, signal) => openPeer(settings, host, signal),
    lost: (peer) => peer.lost,
    close: (peer) => peer.close(),
    end: (peer) => {
      peer.end();
    },
    isRefused,
  });
}

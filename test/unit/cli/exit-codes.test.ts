import {
  AuthenticationError,
  BackpressureError,
  ConfigurationError,
  DriverLoadError,
  InvalidTargetError,
  MessageDeliveryError,
  MessageUndeliverableError,
  MessagingTimeoutError,
  SerializationError,
  ServerListenError,
  TransportClosedError,
} from '@ebbgate/core';
import {
  DrainingError,
  NoSuchMethodError,
  RemoteError,
  RpcVersionCapError,
  UnsupportedVersionError,
  ValidationError,
} from '@ebbgate/rpc';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { exitCodeFor, exitCodesHelp, Interruption } from '#cli/exit-codes.js';
import { UsageError } from '#cli/usage-error.js';

const answered = { outcome: 'answered' } as const;
const table: readonly [Error, number][] = [
  [new Error('x'), 1],
  [new UsageError('x'), 2],
  [new ConfigurationError('x'), 2],
  [new DriverLoadError('x'), 2],
  [new InvalidTargetError('x'), 2],
  [new SerializationError('x'), 2],
  [new MessagingTimeoutError('x'), 10],
  [new MessageUndeliverableError('x'), 11],
  [new RemoteError({ remoteType: 'E', remoteMessage: 'x' }), 12],
  [new MessagingTimeoutError('at the peer', answered), 12],
  [new SerializationError('at the peer', answered), 12],
  [new NoSuchMethodError('m', answered), 13],
  [new UnsupportedVersionError('2.0', 'm', answered), 13],
  [new RpcVersionCapError('2.0', '1.0'), 13],
  [new ValidationError('m', [], answered), 13],
  [new DrainingError('x'), 13],
  [new MessageDeliveryError('x'), 14],
  [new BackpressureError('x'), 14],
  [new ServerListenError('x'), 14],
  [new TransportClosedError('x'), 14],
  [new AuthenticationError('x'), 15],
  [new Interruption('x', 130), 130],
];

describe('exit codes', () => {
  for (const [error, code] of table) {
    it(`is ${String(code)} for ${error.name}: ${error.message}`, () => {
      expect(exitCodeFor(error)).to.equal(code);
    });
  }

  it('are all in the help', () => {
    for (const code of new Set(table.map(([, number]) => number)))
      expect(exitCodesHelp).to.match(new RegExp(`\\b${String(code)}\\b`));
  });
});

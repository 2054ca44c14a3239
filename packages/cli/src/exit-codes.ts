import { MessagingError } from '@ebbgate/core';
import { UsageError } from './usage-error.js';

/** What the exit code of `ebbgate` tells. Those of `serve` after it has started are the ones of `@ebbgate/service`. */
export const cliExitCodes: {
  readonly ok: 0;
  /** Something that none of the other codes names; for `serve`: it could not start. */
  readonly unexpected: 1;
  /** The command line, or what it names, is wrong. Nothing was sent. */
  readonly usage: 2;
  /** No answer in time; the request may have run. */
  readonly timeout: 10;
  /** Nobody has ever listened there. */
  readonly undeliverable: 11;
  /** The method was called and threw. */
  readonly remote: 12;
  /** The receiver, or the version cap, did not let the method be called. */
  readonly refused: 13;
  /** The broker cannot be reached, or did not take the message. */
  readonly connection: 14;
  /** The broker refused the credentials or the permission. */
  readonly authentication: 15;
  /** SIGINT. */
  readonly interrupted: 130;
  /** Whoever read the output is gone. */
  readonly outputClosed: 141;
  /** SIGTERM. */
  readonly terminated: 143;
} = Object.freeze({
  ok: 0,
  unexpected: 1,
  usage: 2,
  timeout: 10,
  undeliverable: 11,
  remote: 12,
  refused: 13,
  connection: 14,
  authentication: 15,
  interrupted: 130,
  outputClosed: 141,
  terminated: 143,
});

/** Ends a command from outside: a signal, or an output that nobody reads any more. */
export class Interruption extends Error {
  /** The exit code that the command ends with. */
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.name = 'Interruption';
    this.exitCode = exitCode;
  }
}

/** Also when a peer answered with it: the peer said so before its method ran. */
const REFUSALS: ReadonlySet<string> = new Set([
  'ERR_NO_SUCH_METHOD',
  'ERR_UNSUPPORTED_VERSION',
  'ERR_VERSION_CAP',
  'ERR_VALIDATION',
  'ERR_DRAINING',
]);

const BY_CODE: ReadonlyMap<string, number> = new Map([
  ['ERR_CONFIGURATION', cliExitCodes.usage],
  ['ERR_DRIVER_LOAD', cliExitCodes.usage],
  ['ERR_INVALID_TARGET', cliExitCodes.usage],
  ['ERR_INVALID_TRANSPORT_URL', cliExitCodes.usage],
  ['ERR_SERIALIZATION', cliExitCodes.usage],
  ['ERR_TIMEOUT', cliExitCodes.timeout],
  ['ERR_WAIT_TIMEOUT', cliExitCodes.timeout],
  ['ERR_UNDELIVERABLE', cliExitCodes.undeliverable],
  ['ERR_DELIVERY', cliExitCodes.connection],
  ['ERR_BACKPRESSURE', cliExitCodes.connection],
  ['ERR_SERVER_LISTEN', cliExitCodes.connection],
  ['ERR_TRANSPORT_CLOSED', cliExitCodes.connection],
  ['ERR_AUTHENTICATION', cliExitCodes.authentication],
]);

/** The exit code for whatever a command failed with. */
export function exitCodeFor(error: unknown): number {
  if (error instanceof Interruption) return error.exitCode;
  if (error instanceof UsageError) return cliExitCodes.usage;
  if (!(error instanceof MessagingError)) return cliExitCodes.unexpected;
  if (REFUSALS.has(error.code)) return cliExitCodes.refused;
  if (error.outcome === 'answered') return cliExitCodes.remote;
  return BY_CODE.get(error.code) ?? cliExitCodes.unexpected;
}

/** For `--help`. */
export const exitCodesHelp: string = `Exit codes:
    0  done
    1  something unexpected
    2  the command line, or what it names, is wrong; nothing was sent
   10  no answer in time; the request may have run
   11  undeliverable: nobody has ever listened there
   12  the method threw
   13  refused: no such method, version or namespace, arguments not valid,
       or draining
   14  the broker cannot be reached or did not take the message
   15  the broker refused the credentials
  130, 143, 141  ended by SIGINT, by SIGTERM, by a closed output
  serve, once started:  0 all was answered · 1 could not start
                        3 work was left · 4 the overall time-out ended it
                        130 SIGINT while draining`;

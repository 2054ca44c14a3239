import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { type ConnectionOptions, createSecureContext } from 'node:tls';
import { ConfigurationError, redactedCause } from '@ebbgate/core';

/** How connections are encrypted: the names of files, never what is in them. */
export interface TlsSettings {
  /** Empty: the authorities that Node trusts. */
  readonly caFile: string;
  readonly certFile: string;
  /** Empty with a certificate: the key is in the file of the certificate. */
  readonly keyFile: string;
  /** The chain is verified in any case. */
  readonly verifyHostname: boolean;
}

/**
 * The options for one connection. Chain and host name are verified (SEC-03), whatever the environment says. The files are
 * read each time, so that certificates may be renewed while the process runs.
 *
 * @param hostname - as the URL has it: what the certificate must name; undefined: the one that is connected to
 * @throws ConfigurationError (`ERR_CONFIGURATION`) for a file that cannot be read; its text holds nothing of the file.
 */
export function tlsOptions(tls: TlsSettings, hostname: string | undefined): ConnectionOptions {
  const { ca, cert, key } = readFiles(tls);
  return {
    rejectUnauthorized: true,
    ...(ca && { ca }),
    ...(cert && { cert, key: key ?? cert }),
    // RFC 6066: the name is sent to the server so that it can choose its certificate; addresses are not.
    ...(hostname !== undefined && isIP(hostname) === 0 && { servername: hostname }),
    ...(!tls.verifyHostname && { checkServerIdentity: () => undefined }),
  };
}

/**
 * Reads all files once, to fail at the start rather than at the first connection.
 *
 * @throws ConfigurationError, as {@link tlsOptions}, also when a file holds something else.
 */
export function checkTls(tls: TlsSettings): void {
  const { ca, cert, key } = readFiles(tls);
  if (ca) attempt(() => new X509Certificate(ca), `ssl_ca_file ${tls.caFile} holds no certificate in PEM`);
  if (!cert) return;
  attempt(
    () => createSecureContext({ cert, key: key ?? cert }),
    `ssl_cert_file ${tls.certFile} and ssl_key_file hold no certificate with its key, unencrypted, in PEM`,
  );
}

/** How a connection ends, as Node tells it, whose other side has ended it without a word that arrived. */
const ENDED: readonly unknown[] = ['ECONNRESET', 'EPIPE'];

/**
 * Why no connection was made over TLS, in words; undefined when TLS has no part in it. A store that refuses our certificate
 * says so and ends the connection, by which what it said can be lost on its way.
 */
export function tlsReason(error: unknown, { certFile }: TlsSettings): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if ('reason' in error && typeof error.reason === 'string') return `TLS: ${error.reason}`; // by OpenSSL
  if (!('code' in error) || !ENDED.includes(error.code)) return undefined;
  const guess = certFile === '' ? 'wants a certificate from us' : 'does not take our certificate';
  return `${error.message}, as of a store that ${guess} (ssl_cert_file)`;
}

function readFiles(tls: TlsSettings): Record<'ca' | 'cert' | 'key', Buffer | undefined> {
  return {
    ca: read('ssl_ca_file', tls.caFile),
    cert: read('ssl_cert_file', tls.certFile),
    key: read('ssl_key_file', tls.keyFile),
  };
}

function read(option: string, file: string): Buffer | undefined {
  return file === '' ? undefined : attempt(() => readFileSync(file), `${option} ${file} cannot be read`);
}

function attempt<Result>(work: () => Result, otherwise: string): Result {
  try {
    return work();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    throw new ConfigurationError(`${otherwise}${code}`, { cause: redactedCause(error) });
  }
}

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { type ConnectionOptions, createSecureContext, type SecureVersion } from 'node:tls';
import { ConfigurationError, redactedCause } from '@ebbgate/core';

/** How connections are encrypted: the names of files, never what is in them. */
export interface TlsSettings {
  /** Undefined: the authorities that Node trusts. */
  readonly caFile: string | undefined;
  readonly certFile: string | undefined;
  /** Undefined with a certificate: the key is in the file of the certificate. */
  readonly keyFile: string | undefined;
  /** The chain is verified in any case. */
  readonly verifyHostname: boolean;
  /** That version only; undefined: Node's own choice, TLS 1.2 or later. */
  readonly version: SecureVersion | undefined;
}

/** What `node:tls` is given; goes into amqplib's socket options as it is. */
export type TlsOptions = Pick<
  ConnectionOptions,
  'ca' | 'cert' | 'key' | 'minVersion' | 'maxVersion' | 'servername' | 'checkServerIdentity'
> & { readonly rejectUnauthorized: true };

const DEFAULTS: TlsSettings = Object.freeze({
  caFile: undefined,
  certFile: undefined,
  keyFile: undefined,
  verifyHostname: true,
  version: undefined,
});

/**
 * The options for one connection. Chain and host name are verified (SEC-03), whatever the environment says. The files
 * are read each time, so that certificates may be renewed while the process runs.
 *
 * @param host As the URL has it: what the certificate must name.
 * @throws ConfigurationError (`ERR_CONFIGURATION`) for a file that cannot be read or holds something else; its text
 *   holds nothing of the file.
 */
export function tlsOptions(
  { ssl }: { readonly ssl: TlsSettings | undefined },
  { hostname }: { readonly hostname: string },
): TlsOptions {
  const tls = ssl ?? DEFAULTS;
  const { ca, cert, key } = readFiles(tls);
  return {
    rejectUnauthorized: true,
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert, key: key ?? cert }),
    ...(tls.version !== undefined && { minVersion: tls.version, maxVersion: tls.version }),
    // RFC 6066: the name is sent to the server so that it can choose its certificate; addresses are not.
    ...(isIP(hostname) === 0 && { servername: hostname }),
    ...(!tls.verifyHostname && { checkServerIdentity: () => undefined }),
  };
}

/**
 * Reads all files once, to fail at the start rather than at the first connection.
 *
 * @throws ConfigurationError, as {@link tlsOptions}, also when certificate and key do not belong together.
 */
export function checkTls(tls: TlsSettings): void {
  const { ca, cert, key } = readFiles(tls);
  if (ca !== undefined) {
    attempt(() => new X509Certificate(ca), `ssl_ca_file ${quote(tls.caFile)} holds no certificate in PEM`);
  }
  if (cert === undefined) return;
  const keyFile = tls.keyFile === undefined ? '' : ` and ssl_key_file ${quote(tls.keyFile)}`;
  attempt(
    () => createSecureContext({ cert, key: key ?? cert }),
    `ssl_cert_file ${quote(tls.certFile)}${keyFile} hold no certificate with its key, unencrypted, in PEM`,
  );
}

function readFiles(tls: TlsSettings): Record<'ca' | 'cert' | 'key', Buffer | undefined> {
  return {
    ca: read('ssl_ca_file', tls.caFile),
    cert: read('ssl_cert_file', tls.certFile),
    key: read('ssl_key_file', tls.keyFile),
  };
}

function read(option: string, file: string | undefined): Buffer | undefined {
  if (file === undefined) return undefined;
  return attempt(() => readFileSync(file), `${option} ${quote(file)} cannot be read`);
}

function attempt<Result>(work: () => Result, otherwise: string): Result {
  try {
    return work();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    throw new ConfigurationError(`${otherwise}${code}`, { cause: redactedCause(error) });
  }
}

function quote(file: string | undefined): string {
  return JSON.stringify(file ?? '');
}

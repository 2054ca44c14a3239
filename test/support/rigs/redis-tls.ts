import { freePort } from './free-port.js';
import { NOT_SAVED, RedisProcess } from './redis-process.js';
import type { TlsFiles } from './tls-files.js';

/** A Redis of our own that listens with TLS, too. */
export interface TlsRedis {
  readonly server: RedisProcess;
  /** Where it speaks TLS and nothing else. */
  readonly port: number;
}

/** @param files - its certificate, and the authority of those of its clients @param onlyCertified - it refuses others */
export async function startTlsRedis(files: TlsFiles, onlyCertified = false): Promise<TlsRedis> {
  const port = await freePort();
  const tls = [
    `tls-port ${port}`,
    `tls-cert-file ${files.serverCert}`,
    `tls-key-file ${files.serverKey}`,
    `tls-ca-cert-file ${files.ca}`,
    `tls-auth-clients ${onlyCertified ? 'yes' : 'no'}`,
  ];
  return { server: await RedisProcess.start({ config: [...NOT_SAVED, ...tls] }), port };
}

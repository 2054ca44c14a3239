import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../run-command.js';

/** A local authority and what it signed; all are paths of PEM files. */
export interface TlsFiles {
  /** The authority's certificate: what a client must trust. */
  readonly ca: string;
  readonly serverCert: string;
  readonly serverKey: string;
  /** For clients that show a certificate of their own. */
  readonly clientCert: string;
  readonly clientKey: string;
}

async function openssl(folder: string, args: readonly string[]): Promise<void> {
  const result = await runCommand('openssl', args, folder);
  if (result.code !== 0) throw new Error(`openssl ${args.join(' ')}: ${result.stderr}`);
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

async function signed(folder: string, name: string, extensions: string): Promise<void> {
  await writeFile(join(folder, `${name}.ext`), extensions);
  const request = ['-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.csr`];
  await openssl(folder, ['req', ...NEW_KEY, ...request]);
  const authority = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial'];
  const files = ['-in', `${name}.csr`, '-out', `${name}.pem`, '-extfile', `${name}.ext`];
  await openssl(folder, ['x509', '-req', '-days', '2', ...authority, ...files]);
}

/**
 * Makes an authority of its own, valid for two days, and certificates signed by it.
 *
 * @param folder - where the files go
 * @param names - the subject alternative names of the server's, in openssl's form
 */
export async function tlsFiles(
  folder: string,
  names: readonly string[] = ['DNS:localhost', 'IP:127.0.0.1'],
): Promise<TlsFiles> {
  const self = ['-x509', '-days', '2', '-subj', '/CN=ebbgate test authority'];
  await openssl(folder, ['req', ...self, ...NEW_KEY, '-keyout', 'ca.key', '-out', 'ca.pem']);
  await signed(folder, 'server', `subjectAltName=${names.join(',')}\nextendedKeyUsage=serverAuth\n`);
  await signed(folder, 'client', 'extendedKeyUsage=clientAuth\n');
  return {
    ca: join(folder, 'ca.pem'),
    serverCert: join(folder, 'server.pem'),
    serverKey: join(folder, 'server.key'),
    clientCert: join(folder, 'client.pem'),
    clientKey: join(folder, 'client.key'),
  };
}

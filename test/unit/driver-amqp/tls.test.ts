import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { connect, createServer, type Server, type TLSSocket } from 'node:tls';
import { type MessagingError, TransportUrl } from '@ebbgate/core';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { type RabbitOptions, type RabbitSettings, readSettings } from '#driver-amqp/options.js';
import { tlsOptions } from '#driver-amqp/tls.js';
import { type PrivateFolder, privateFolder } from '../../support/rigs/private-folder.js';
import { type TlsFiles, tlsFiles } from '../../support/rigs/tls-files.js';

function settingsOf(options: RabbitOptions): RabbitSettings {
  return readSettings(TransportUrl.parse('rabbits://localhost/'), options);
}

function refusal(options: RabbitOptions): MessagingError {
  try {
    settingsOf(options);
  } catch (error) {
    return error as MessagingError;
  }
  throw new Error('It was not refused');
}

describe('TLS of the RabbitMQ driver', () => {
  let folder: PrivateFolder;
  let files: TlsFiles;
  let server: Server;
  /** The names that clients sent, and who they said they are. */
  const seen: (readonly [servername: string | false, client: string | undefined])[] = [];

  before(async function () {
    this.timeout(20_000);
    folder = await privateFolder('tls-options');
    files = await tlsFiles(folder.path, ['DNS:localhost']);
    const [cert, key, ca] = [files.serverCert, files.serverKey, files.ca].map((file) => readFileSync(file));
    server = createServer({ cert, key, ca, requestCert: true, rejectUnauthorized: false }, (socket) => {
      const { servername } = socket as TLSSocket & { servername: string | false }; // Node sets it, its types do not
      seen.push([servername, socket.authorized ? String(socket.getPeerCertificate().subject.CN) : undefined]);
      socket.on('error', () => undefined).end('hello');
    });
    server.on('tlsClientError', () => undefined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  after(async () => {
    server.close();
    await folder.remove();
  });

  /** Connects as amqplib does with these options; gives the error code, or `connected`. */
  function attempt(options: RabbitOptions, hostname = 'localhost'): Promise<string> {
    const { port } = server.address() as AddressInfo; // it listens on TCP
    const settings = settingsOf(options);
    return new Promise((resolve) => {
      // The address is given in any case, so that no name is looked up; what is verified is servername, else host.
      const target = hostname === 'localhost' ? '127.0.0.1' : hostname;
      const socket = connect({ ...tlsOptions(settings, { hostname }), host: target, port });
      socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
      socket.once('data', () => {
        socket.destroy();
        resolve('connected');
      });
    });
  }

  it('connects to a broker that its authority vouches for, and tells it the name (SEC-03)', async () => {
    seen.length = 0;
    expect(await attempt({ ssl_ca_file: files.ca })).to.equal('connected');
    expect(seen).to.deep.equal([['localhost', undefined]]);
  });

  it('trusts no unknown authority, and leaves that to no environment variable (SEC-03)', async () => {
    expect(await attempt({})).to.match(/^(UNABLE_TO_VERIFY_LEAF_SIGNATURE|SELF_SIGNED_CERT_IN_CHAIN)$/);
    expect(tlsOptions(settingsOf({}), { hostname: 'h' })).to.include({ rejectUnauthorized: true });
  });

  it("refuses another host's certificate, and takes it when told to, but never another authority's (SEC-03)", async () => {
    const relaxed = { ssl_enforce_hostname_verification: false };
    expect(await attempt({ ssl_ca_file: files.ca }, '127.0.0.1')).to.equal('ERR_TLS_CERT_ALTNAME_INVALID');
    seen.length = 0;
    expect(await attempt({ ssl_ca_file: files.ca, ...relaxed }, '127.0.0.1')).to.equal('connected');
    expect(seen, 'no address is sent as a name').to.deep.equal([[false, undefined]]);
    expect(await attempt(relaxed, '127.0.0.1')).to.not.equal('connected');
  });

  it("shows the client's certificate, from two files or one (SEC-03)", async () => {
    const both = join(folder.path, 'both.pem');
    await writeFile(
      both,
      Buffer.concat([files.clientCert, files.clientKey].map((file) => readFileSync(file))),
    );
    seen.length = 0;
    for (const own of [
      { ssl_cert_file: files.clientCert, ssl_key_file: files.clientKey },
      { ssl_cert_file: both },
    ]) {
      const options = { ssl_ca_file: files.ca, rabbit_login_method: 'EXTERNAL', ...own } as const;
      expect(await attempt(options)).to.equal('connected');
    }
    expect(seen).to.deep.equal([
      ['localhost', 'client'],
      ['localhost', 'client'],
    ]);
  });

  it('speaks only the version that it is told (SEC-03)', () => {
    const versions = (ssl_version: string): unknown => {
      const { minVersion, maxVersion, rejectUnauthorized } = tlsOptions(settingsOf({ ssl_version }), {
        hostname: 'h',
      });
      return [minVersion, maxVersion, rejectUnauthorized];
    };
    expect(versions('')).to.deep.equal([undefined, undefined, true]);
    expect(versions('TLSv1_2')).to.deep.equal(['TLSv1.2', 'TLSv1.2', true]);
    expect(versions('TLSv1_3')).to.deep.equal(['TLSv1.3', 'TLSv1.3', true]);
  });

  it('reads the files anew for each connection, so that they can be renewed', async () => {
    const own = join(folder.path, 'renewed.pem');
    await writeFile(own, readFileSync(files.serverCert));
    const settings = settingsOf({ ssl_ca_file: own });
    await writeFile(own, readFileSync(files.ca));
    expect(String(tlsOptions(settings, { hostname: 'h' }).ca)).to.equal(String(readFileSync(files.ca)));
  });

  it('names the option, the file and the reason when a file cannot be used, and nothing of what is in it (SEC-04)', async () => {
    const missing = join(folder.path, 'missing.pem');
    const other = join(folder.path, 'other.pem');
    await writeFile(other, 's3cret');
    const cert = files.clientCert;
    const broken: readonly (readonly [RabbitOptions, string])[] = [
      [{ ssl_ca_file: missing }, `ssl_ca_file ${JSON.stringify(missing)} cannot be read (ENOENT)`],
      [{ ssl_ca_file: folder.path }, 'cannot be read (EISDIR)'],
      [{ ssl_ca_file: other }, `ssl_ca_file ${JSON.stringify(other)} holds no certificate`],
      [{ ssl_cert_file: missing }, 'ssl_cert_file'],
      [{ ssl_cert_file: cert, ssl_key_file: missing }, 'ssl_key_file'],
      [{ ssl_cert_file: cert }, 'hold no certificate with its key'],
      [{ ssl_cert_file: cert, ssl_key_file: other }, 'hold no certificate with its key'],
      [{ ssl_cert_file: cert, ssl_key_file: files.serverKey }, 'hold no certificate with its key'],
    ];
    for (const [options, expected] of broken) {
      const { code, message, stack } = refusal(options);
      expect(code).to.equal('ERR_CONFIGURATION');
      expect(message).to.include(expected);
      expect(stack).to.not.include('s3cret');
    }
  });
});

import { expect } from 'chai';
import { describe, it } from 'mocha';
import { tlsReason, type TlsSettings } from '#driver-redis/tls.js';

const BARE: TlsSettings = { caFile: 'ca.pem', certFile: '', keyFile: '', verifyHostname: true };
const CERTIFIED: TlsSettings = { ...BARE, certFile: 'client.pem' };
const ended = Object.assign(new Error('write ECONNRESET'), { code: 'ECONNRESET' });

describe('why there is no connection over TLS', () => {
  it('is told in the words of OpenSSL, without where in its source that was (SEC-03)', () => {
    const error = Object.assign(
      new Error('80:error:0A:SSL routines:ssl3_read_bytes:tlsv13 alert x:rec.c:1601:\n'),
      {
        reason: 'tlsv13 alert certificate required',
      },
    );
    expect(tlsReason(error, BARE)).to.equal('TLS: tlsv13 alert certificate required');
  });

  it('is guessed when the store has ended the connection, and what it said is lost (SEC-03)', () => {
    expect(tlsReason(ended, BARE)).to.match(
      /^write ECONNRESET, .* wants a certificate from us \(ssl_cert_file\)$/,
    );
    expect(tlsReason(ended, CERTIFIED)).to.match(/does not take our certificate \(ssl_cert_file\)$/);
  });

  it('is nothing else', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    for (const error of [refused, new Error('WRONGPASS'), 'a text'])
      expect(tlsReason(error, BARE)).to.equal(undefined);
  });
});

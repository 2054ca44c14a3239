import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createTransport, type WireMessage } from '@ebbgate/core';
import { ComputeApi, decodeObjects, MigrationPreCheckError, novaContext } from '@ebbgate/compute';
import { remoteErrors } from '#compute/rpc/remote-errors.js';
import { bytesDriver } from '../../support/bytes-driver.js';
import { rejectionOf } from '../../support/deferred.js';
import { innerOf, textOf } from '../../support/recorded.js';
import { CAPTURED_ROWS, objectsIn, sendByUs } from './captured-rows.js';
import { type Capture, readCaptures } from './captures.js';

const captures = readCaptures();

/** What our client would send for the same request to receivers of the same release. */
async function sentByUs(capture: Capture): Promise<WireMessage> {
  const sent: WireMessage[] = [];
  const watching = bytesDriver((_destination, message) => {
    sent.push(message);
    throw new Error('seen, and not sent');
  });
  const transport = createTransport('memory://captured-client/', { drivers: [watching] });
  const api = new ComputeApi(transport, {
    versionCap: 'zed',
    rpcTimeoutMs: 10_000,
    longRpcTimeoutMs: 30_000,
  });
  const context = novaContext({ userId: 'u', projectId: 'p', roles: ['member', 'reader'] });
  const error = await rejectionOf(sendByUs(api, context, capture, capture.server));
  await transport.close();
  const [message] = sent;
  if (!message) throw error;
  return message;
}

describe('our client, for what a real Nova client sent', () => {
  for (const capture of captures) {
    if (CAPTURED_ROWS.get(capture.name)?.fault === true) continue;
    it(`sends the same members: ${capture.name}`, async () => {
      const message = await sentByUs(capture);
      const inner = innerOf(textOf(message));
      expect(Object.keys(inner)).to.have.members(Object.keys(capture.request));
      expect(inner).to.include({ method: capture.method, version: capture.version });
      expect(Object.keys(inner['args'] as object)).to.have.members(Object.keys(capture.args));
      expect(typeof inner['_timeout']).to.equal(typeof capture.request['_timeout']);
      expect(inner['_timeout'] === null).to.equal(capture.request['_timeout'] === null);
      expect(objectsIn(decodeObjects(inner['args'])).toSorted()).to.deep.equal(
        objectsIn(decodeObjects(capture.args)).toSorted(),
      );
      for (const [name, value] of Object.entries(capture.request).filter(([one]) =>
        one.startsWith('_context_'),
      ))
        expect(typeof inner[name], name).to.equal(typeof value);
      expect(message.expirationMs !== undefined).to.equal(capture.kind === 'call');
    });
  }

  it('says where Nova says nothing that a host is not there', async () => {
    const transport = createTransport('memory://captured-absent/');
    const error = await rejectionOf(
      new ComputeApi(transport).call({}, 'get_host_uptime', 'compute-absent', {}),
    );
    expect(error.code).to.equal('ERR_UNDELIVERABLE');
    await transport.close();
  });

  it('gets Nova’s exceptions as what they are here', async () => {
    const refused = captures.find(({ name }) => name === 'v26-error-expected-exception');
    const failure = refused?.replies[0]?.['failure'];
    const { module, class: name } = JSON.parse(failure as string) as Record<string, string>; // as a server wrote it
    const info = { message: 'no', code: undefined, data: {}, args: [], kwargs: {} };
    expect(remoteErrors.build(module ?? '', name ?? '', info)).to.be.instanceOf(MigrationPreCheckError);
  });
});

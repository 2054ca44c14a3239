import { RECORDS_TOPIC, RemoteRecords } from '@ebbgate/compute';
import { RpcServer } from '@ebbgate/rpc';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { recordsEndpoint } from '#compute/conductor/records-endpoint.js';
import { objectSerializer } from '#compute/rpc/object-serializer.js';
import { DEST, HttpCloud, SOURCE, withHttpCloud } from './http-cloud.js';
import { withCloud } from './test-cloud.js';

/** Where a server is, and what it is. */
async function sightOf(http: HttpCloud, id: string): Promise<string> {
  const shown = await http.shown(id);
  return `${String(shown['status'])}@${String(shown['OS-EXT-SRV-ATTR:host'])}`;
}

async function asked(http: HttpCloud, id: string, body: object): Promise<number> {
  return (await http.act(id, body)).status;
}

/** All of it, from its boot to its end. */
async function live(http: HttpCloud): Promise<void> {
  const { cloud } = http;
  const id = await http.boot();
  expect(await sightOf(http, id)).to.equal(`ACTIVE@${SOURCE}`);

  const live = { host: DEST, block_migration: 'auto' };
  expect(await asked(http, id, { 'os-migrateLive': live })).to.equal(202);
  await cloud.migrationBecomes(id, 'completed');
  expect(await sightOf(http, id)).to.equal(`ACTIVE@${DEST}`);

  expect(await asked(http, id, { resize: { flavorRef: '2' } })).to.equal(202);
  await cloud.becomes(id, 'resized/-');
  expect(await sightOf(http, id)).to.equal(`VERIFY_RESIZE@${SOURCE}`);
  expect(await asked(http, id, { confirmResize: null })).to.equal(204);
  await cloud.becomes(id, 'active/-');
  expect((await http.shown(id))['flavor']).to.include({ original_name: 'm1.small', ram: 2048 });

  expect(await asked(http, id, { migrate: { host: DEST } })).to.equal(202);
  await cloud.becomes(id, 'resized/-');
  expect(await asked(http, id, { revertResize: null })).to.equal(202);
  await cloud.becomes(id, 'active/-');
  expect(await sightOf(http, id)).to.equal(`ACTIVE@${SOURCE}`);

  expect(await asked(http, id, { rebuild: { imageRef: 'fedora', name: 'new' } })).to.equal(202);
  await cloud.becomes(id, 'active/-');
  expect(await http.shown(id)).to.deep.include({ name: 'new' });
  expect((await http.shown(id))['image']).to.include({ id: 'fedora' });

  expect(await asked(http, id, { 'os-stop': null })).to.equal(202);
  await cloud.becomes(id, 'stopped/-');
  expect(await asked(http, id, { 'os-start': null })).to.equal(202);
  await cloud.becomes(id, 'active/-');

  expect((await http.shown(id))['host_status']).to.equal('UP');
  await cloud.crash(SOURCE);
  await http.force(SOURCE, true);
  expect((await http.shown(id))['host_status']).to.equal('DOWN');
  expect(await asked(http, id, { evacuate: {} })).to.equal(200);
  await cloud.migrationBecomes(id, 'done');
  expect(await sightOf(http, id)).to.equal(`SHUTOFF@${DEST}`);
  expect(await asked(http, id, { 'os-start': null })).to.equal(202);
  await cloud.becomes(id, 'active/-');

  await cloud.cloud.host(SOURCE).start();
  await cloud.migrationBecomes(id, 'completed');
  await http.force(SOURCE, false);

  expect((await http.bed.send('DELETE', `/v2.1/servers/${id}`)).status).to.equal(204);
  await cloud.becomes(id, 'deleted/-');
  expect((await http.bed.send('GET', `/v2.1/servers/${id}`)).status).to.equal(404);
  expect(await http.names()).to.deep.equal([]);
  expect(cloud.cloud.hypervisors.locate(id)).to.deep.equal([]);
}

describe('compute: the life of a server over HTTP', () => {
  it('boots, moves live and cold, is resized, rebuilt, stopped, started, evacuated and deleted (FD-2, FD-6, FD-27)', () =>
    withHttpCloud(live));

  it('is the same for an API that has no database, and asks the conductors', () =>
    withCloud({}, async (cloud) => {
      const { records, computeApi } = cloud.cloud;
      const { transport } = computeApi;
      const target = { topic: RECORDS_TOPIC, server: 'conductor-1' };
      const codec = { serializer: objectSerializer };
      const server = new RpcServer(transport, target, [recordsEndpoint(records)], codec);
      await server.start();
      const http = new HttpCloud(cloud, { records: new RemoteRecords(transport) });
      try {
        await live(http);
      } finally {
        await http.bed.close();
        await server.stop();
        await server.wait({ timeoutMs: 1000 });
      }
    }));
});

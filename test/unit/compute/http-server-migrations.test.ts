import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { Policy } from '#compute/http/policy.js';
import { SERVER_MIGRATION_ANSWER, SERVER_MIGRATIONS_ANSWER } from '#compute/http/migration-schemas.js';
import { eventually } from '../../support/rigs/deadline.js';
import { refused, shown, type Shown } from './http-asked.js';
import { withHttp } from './http-bed.js';
import { move, moving } from './http-moves.js';

interface List {
  readonly migrations: readonly Shown[];
}

describe('compute: migrations of a server', () => {
  it('shows live migrations that are in progress, with what is copied', () =>
    withHttp(async (bed) => {
      const progress = { memory_total: 1000, memory_processed: 400, memory_remaining: 600 };
      const path = await moving(bed, { migration: progress });
      await move(bed, { instance_uuid: path.split('/')[2] ?? '' });
      const { migration } = await shown<{ readonly migration: Shown }>(
        bed,
        `${path}/1`,
        SERVER_MIGRATION_ANSWER,
        '2.23',
      );
      expect(migration).to.deep.include({
        id: 1,
        server_uuid: path.split('/')[2],
        status: 'running',
        source_compute: 'a',
        dest_compute: 'b',
        memory_total_bytes: 1000,
        memory_processed_bytes: 400,
        memory_remaining_bytes: 600,
        disk_total_bytes: null,
      });
      expect(migration).to.not.have.any.keys('uuid', 'user_id');
      const list = async (version: string): Promise<readonly Shown[]> =>
        (await shown<List>(bed, path, SERVER_MIGRATIONS_ANSWER, version)).migrations;
      expect(await list('2.23')).to.deep.equal([migration]);
      expect((await list('2.59'))[0])
        .to.have.property('uuid')
        .and.not.have.property('user_id');
      expect((await list('2.80'))[0]).to.include({ user_id: null, project_id: null });
    }));

  it('knows no server, migration or version that it has not, each with the words of upstream', () =>
    withHttp(async (bed) => {
      const path = await moving(bed);
      const uuid = path.split('/')[2] ?? '';
      await move(bed, { instance_uuid: uuid });
      await move(bed, { instance_uuid: uuid, migration_type: 'resize', status: 'finished' });
      const nowhere = `/servers/${randomUUID()}/migrations`;
      const deleted = await moving(bed, { instance: { deleted: true } });
      const at = (version: string) => ({ version, body: { force_complete: null } });
      const asked = async (method: 'GET' | 'POST' | 'DELETE', where: string, version = 'latest') =>
        refused(bed, method, where, method === 'POST' ? at(version) : { version });
      for (const server of [nowhere, deleted, '/servers/x/migrations']) {
        for (const one of [asked('GET', server), asked('GET', `${server}/1`), asked('DELETE', `${server}/1`)])
          expect(await one, server).to.match(/^404 itemNotFound/);
        expect(await asked('POST', `${server}/1/action`), server).to.match(/^404 itemNotFound/);
      }
      expect(await asked('GET', `${path}/9`)).to.equal(
        `404 itemNotFound: In-progress live migration 9 is not found for server ${uuid}.`,
      );
      expect(await asked('GET', `${path}/2`)).to.equal(
        `404 itemNotFound: Live migration 2 for server ${uuid} is not in progress.`,
      );
      expect(await asked('GET', `${path}/3`)).to.equal(
        `404 itemNotFound: Migration 3 for server ${uuid} is not live-migration.`,
      );
      const early = /^404 itemNotFound: API version 2\.\d+ is not supported on this method\.$/;
      expect(await asked('GET', path, '2.22')).to.match(early);
      expect(await asked('GET', `${path}/1`, '2.22')).to.match(early);
      expect(await asked('DELETE', `${path}/1`, '2.23')).to.match(early);
      expect(await asked('POST', `${path}/1/action`, '2.21')).to.match(early);
    }));

  it('are those of the project of whoever asks, and of all for an administrator', () =>
    withHttp(
      async (bed) => {
        await bed.service('a');
        await bed.host('a');
        const mine = await moving(bed, { instance: { project_id: 'p1' } });
        const other = await moving(bed, { instance: { project_id: 'p2' } });
        const statuses = async (path: string, id: number, token: string): Promise<readonly number[]> => {
          const at = async (method: 'GET' | 'POST' | 'DELETE', where: string, body?: object) =>
            (await bed.send(method, `/v2.1${where}`, { version: 'latest', token, ...(body && { body }) }))
              .status;
          return [
            await at('GET', path),
            await at('GET', `${path}/${id}`),
            await at('POST', `${path}/${id}/action`, { force_complete: null }),
            await at('DELETE', `${path}/${id}`),
          ];
        };
        expect(await statuses(other, 2, 'member')).to.deep.equal([404, 404, 404, 404]);
        expect(bed.calls).to.deep.equal([]);
        expect(await statuses(mine, 1, 'member')).to.deep.equal([200, 200, 202, 202]);
        expect(await statuses(other, 2, 'admin')).to.deep.equal([200, 200, 202, 202]);
      },
      {
        policy: new Policy(
          new Map(
            ['index', 'show', 'delete', 'force_complete'].map(
              (what) => [`os_compute_api:servers:migrations:${what}`, '@'] as const,
            ),
          ),
        ),
        validator: {
          isOpen: false,
          validate: (role) => ({ userId: 'u', projectId: 'p1', roles: [String(role)] }),
        },
      },
    ));

  it('aborts one that runs, from 2.65 also one that is queued or being prepared (decision 25)', () =>
    withHttp(async (bed) => {
      await bed.service('a');
      await bed.host('a');
      const aborted = async (path: string, version: string): Promise<number> =>
        (await bed.send('DELETE', `/v2.1${path}`, { version })).status;
      expect(await aborted(`${await moving(bed)}/1`, '2.24')).to.equal(202);
      const queued = await moving(bed, { migration: { status: 'queued' } });
      expect(await refused(bed, 'DELETE', `${queued}/2`, { version: '2.64' })).to.match(
        /^400 badRequest: Migration 2 state of instance \S+ is queued\. Cannot abort live migration while/,
      );
      expect(await aborted(`${queued}/2`, '2.65')).to.equal(202);
      expect(
        await aborted(`${await moving(bed, { migration: { status: 'preparing' } })}/3`, 'latest'),
      ).to.equal(202);
      await eventually('three calls', 2000, () => bed.calls.length === 3);
      expect(bed.calls).to.have.members([1, 2, 3].map((id) => `a live_migration_abort(${String(id)})`));
    }));

  it('refuses to abort what is no running live migration: 404, 400 or 409', () =>
    withHttp(async (bed) => {
      await bed.service('a');
      const abort = (path: string): Promise<string> => refused(bed, 'DELETE', path, { version: 'latest' });
      const path = await moving(bed);
      expect(await abort(`${path}/9`)).to.match(/^404 itemNotFound: Migration 9 not found for instance /);
      const post = await moving(bed, { migration: { status: 'post-migrating' } });
      expect(await abort(`${post}/2`)).to.match(
        /^400 .* is post-migrating\. Cannot abort live migration while/,
      );
      const cold = await moving(bed, { migration: { migration_type: 'migration' } });
      expect(await abort(`${cold}/3`)).to.match(/^400 /);
      const idle = await moving(bed, { instance: { task_state: null } });
      expect(await abort(`${idle}/4`)).to.match(
        /^409 conflictingRequest: Cannot 'abort live migration' instance \S+ while it is in task_state None$/,
      );
    }));

  it('ends the copying of one that runs, and of no other (decision 25)', () =>
    withHttp(async (bed) => {
      await bed.service('a');
      await bed.host('a');
      const sent = { version: '2.22', body: { force_complete: null } };
      const path = await moving(bed);
      const answer = await bed.send('POST', `/v2.1${path}/1/action`, sent);
      expect(answer.status).to.equal(202);
      await eventually('the call', 2000, () => bed.calls.length === 1);
      expect(bed.calls).to.deep.equal(['a live_migration_force_complete()']);
      const force = (where: string): Promise<string> => refused(bed, 'POST', `${where}/action`, sent);
      expect(await force(`${path}/9`)).to.match(/^400 badRequest: Migration 9 not found for instance /);
      const queued = await moving(bed, { migration: { status: 'queued' } });
      expect(await force(`${queued}/2`)).to.match(/^400 .* is queued\. Cannot force complete while/);
      const paused = await moving(bed, { instance: { vm_state: 'paused' } });
      expect(await force(`${paused}/3`)).to.match(/^409 .*'force_complete' .* in vm_state paused$/);
      const idle = await moving(bed, { instance: { task_state: null } });
      expect(await force(`${idle}/4`)).to.match(/^409 .* in task_state None$/);
      for (const body of [{}, { force_complete: {} }, { force_complete: null, x: 1 }, undefined]) {
        const bad = { version: '2.22', ...(body && { body }) };
        expect(await refused(bed, 'POST', `${path}/1/action`, bad)).to.match(/^400 /);
      }
    }));

  it('does neither while the host is down: 409 at once (COMP-16, FD-28)', () =>
    withHttp(async (bed) => {
      await bed.service('a');
      await bed.records.services.update('compute', 'a', { forcedDown: true });
      const path = await moving(bed);
      const body = { force_complete: null };
      const down = '409 conflictingRequest: Compute service of a is down';
      expect(await refused(bed, 'DELETE', `${path}/1`, { version: 'latest' })).to.equal(down);
      expect(await refused(bed, 'POST', `${path}/1/action`, { version: 'latest', body })).to.equal(down);
    }));
});

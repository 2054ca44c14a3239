import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { MemoryMappings } from '#compute/db/instance-mappings.js';
import { MIGRATIONS_ANSWER } from '#compute/http/migration-schemas.js';
import { refused, shown, type Shown } from './http-asked.js';
import { type HttpBed, withHttp } from './http-bed.js';
import { move } from './http-moves.js';

interface List {
  readonly migrations: readonly Shown[];
  readonly migrations_links?: readonly { readonly href: string }[];
}

/** The numbers of those that are listed. */
async function numbers(bed: HttpBed, query: string, version = 'latest'): Promise<string> {
  const { migrations } = await shown<List>(bed, `/os-migrations${query}`, MIGRATIONS_ANSWER, version);
  return migrations.map(({ id }) => String(id)).join(' ');
}

describe('compute: os-migrations', () => {
  it('lists all moves; members come with 2.23, 2.59 and 2.80 (decision 33)', () =>
    withHttp(async (bed) => {
      const server = randomUUID();
      const uuid = await move(bed, {
        instance_uuid: server,
        status: 'running',
        memory_total: 9,
        user_id: 'ann',
        project_id: 'p1',
        old_instance_type_id: 1,
        new_instance_type_id: 1,
      });
      const at = async (version: string): Promise<Shown | undefined> =>
        (await shown<List>(bed, '/os-migrations', MIGRATIONS_ANSWER, version)).migrations[0];
      const created = (await bed.records.migrations.get(uuid)).get('created_at')?.toISOString() ?? '';
      const oldest = {
        id: 1,
        instance_uuid: server,
        status: 'running',
        source_compute: 'a',
        source_node: 'a',
        dest_compute: 'b',
        dest_node: 'b',
        dest_host: null,
        old_instance_type_id: 1,
        new_instance_type_id: 1,
        created_at: `${created.slice(0, -1)}000`,
        updated_at: null,
      };
      const href = (prefix: string): string => `http://localhost:80${prefix}/servers/${server}/migrations/1`;
      const typed = {
        ...oldest,
        migration_type: 'live-migration',
        links: [
          { rel: 'self', href: href('/v2.1') },
          { rel: 'bookmark', href: href('') },
        ],
      };
      expect(await at('2.22')).to.deep.equal(oldest);
      expect(await at('2.23')).to.deep.equal(typed);
      expect(await at('2.59')).to.deep.equal({ ...typed, uuid });
      expect(await at('2.80')).to.deep.equal({ ...typed, uuid, user_id: 'ann', project_id: 'p1' });
      await bed.records.migrations.update(uuid, { status: 'completed' });
      expect(await at('2.59')).to.not.have.property('links');
    }));

  it('narrows them by instance, host, source, status, type, user and project, and never shows what is hidden', () =>
    withHttp(async (bed) => {
      const server = randomUUID();
      await move(bed, { instance_uuid: server, user_id: 'ann', project_id: 'p1' });
      await move(bed, { source_compute: 'b', dest_compute: 'c', status: 'error' });
      await move(bed, {
        source_compute: 'c',
        dest_compute: null,
        migration_type: 'resize',
        status: 'finished',
      });
      await move(bed, { hidden: true });
      expect(await numbers(bed, '')).to.equal('3 2 1');
      expect(await numbers(bed, '', '2.58')).to.equal('1 2 3');
      expect(await numbers(bed, `?instance_uuid=${server}`)).to.equal('1');
      expect(await numbers(bed, '?host=b')).to.equal('2 1');
      expect(await numbers(bed, '?source_compute=b')).to.equal('2');
      expect(await numbers(bed, '?host=b&source_compute=c')).to.equal('2 1');
      expect(await numbers(bed, '?status=finished')).to.equal('3');
      expect(await numbers(bed, '?migration_type=live-migration')).to.equal('2 1');
      expect(await numbers(bed, '?user_id=ann&project_id=p1')).to.equal('1');
      expect(await numbers(bed, '?user_id=ann&project_id=p2')).to.equal('');
      expect(await numbers(bed, '?hidden=true')).to.equal('');
      expect(await numbers(bed, '?hidden=false')).to.equal('3 2 1');
    }));

  it('gives pages from 2.59, by uuid, the newest first', () =>
    withHttp(async (bed) => {
      for (let count = 0; count < 3; count += 1) await move(bed, {});
      const page = await shown<List>(bed, '/os-migrations?limit=2', MIGRATIONS_ANSWER, '2.59');
      expect(page.migrations.map(({ id }) => id)).to.deep.equal([3, 2]);
      const [link] = page.migrations_links ?? [];
      expect(await numbers(bed, new URL(link?.href ?? '').search, '2.59')).to.equal('1');
      expect(await numbers(bed, '?limit=1&marker=x', '2.58')).to.equal('1 2 3');
      expect(
        await refused(bed, 'GET', `/os-migrations?marker=${randomUUID()}`, { version: '2.59' }),
      ).to.equal('400 badRequest: marker not found');
    }));

  it('narrows them to those changed since, from 2.59, and before, from 2.66; parameters are strict then', () =>
    withHttp(async (bed) => {
      await move(bed, {});
      const at = (offsetMs: number): string => new Date(Date.now() + offsetMs).toISOString();
      const [past, future] = [at(-60_000), at(60_000)];
      expect(await numbers(bed, `?changes-since=${past}`, '2.59')).to.equal('1');
      expect(await numbers(bed, `?changes-since=${future}`, '2.59')).to.equal('');
      expect(await numbers(bed, `?changes-since=${future.slice(0, -1)}`, '2.59')).to.equal('');
      expect(await numbers(bed, `?changes-since=${future}`, '2.58')).to.equal('1');
      expect(await numbers(bed, `?changes-before=${past}`, '2.66')).to.equal('');
      expect(await numbers(bed, `?changes-since=${past}&changes-before=${future}`)).to.equal('1');
      const bad: readonly (readonly [string, string])[] = [
        [`?changes-since=${future}&changes-before=${past}`, 'latest'],
        [`?changes-before=${past}`, '2.65'],
        ['?changes-since=yesterday', '2.59'],
        ['?changes-since=2026-13-41T00:00:00Z', '2.59'],
        ['?user_id=ann', '2.79'],
        ['?x=1', '2.59'],
        ['?limit=x', '2.59'],
      ];
      for (const [query, version] of bad)
        expect(await refused(bed, 'GET', `/os-migrations${query}`, { version }), query).to.match(/^400 /);
    }));

  it('shows each move between cells once', () =>
    withHttp(async (first) => {
      await withHttp(async (second) => {
        const instance_uuid = randomUUID();
        const uuid = await move(first, { instance_uuid, hidden: true, cross_cell_move: true });
        await move(second, { uuid, instance_uuid, cross_cell_move: true, status: 'finished' });
        await move(second, {});
        const all = [first, second].map(({ records, computeApi }, index) => ({
          name: String(index),
          records,
          computeApi,
        }));
        const cells = {
          mappings: new MemoryMappings(),
          others: () => Promise.resolve(all),
          get: () => Promise.reject(new Error('It is not asked')),
        };
        await withHttp(
          async (bed) => {
            expect(await numbers(bed, '')).to.equal('2 1');
          },
          { cells },
        );
      });
    }));
});

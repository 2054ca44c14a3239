import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Caller, TokenValidator } from '#compute/http/auth.js';
import { Policy } from '#compute/http/policy.js';
import { Sessions } from '#compute/http/page/sessions.js';
import { withHttp } from './http-bed.js';
import { withPage } from './http-page-bed.js';

const FOLDER = join(process.cwd(), 'packages/compute/page');
const HTML = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
const FROM_PAGE = { 'x-ebbgate-page': '1' };
const TOKENS: ReadonlyMap<string, Caller> = new Map([
  ['token-of-ann', { userId: 'ann', projectId: null, roles: ['admin'] }],
  ['token-of-bob', { userId: 'bob', projectId: null, roles: ['reader'] }],
]);

function validator(tokens = TOKENS): TokenValidator {
  return { isOpen: false, validate: (token) => tokens.get(token ?? '') };
}

function raw(headers: Readonly<Record<string, unknown>>, name: string): string {
  return String(headers[name]);
}

describe('compute: the page for operators over HTTP', () => {
  it('is at / for browsers; clients get the versions there as before (HTTP-03)', () =>
    withHttp(async ({ app }) => {
      const page = await app.fastify.inject({ url: '/', headers: HTML });
      expect([page.statusCode, page.headers['content-type']]).to.deep.equal([
        200,
        'text/html; charset=utf-8',
      ]);
      expect(page.body).to.match(/^<!doctype html>/);
      for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }]) {
        const versions = await app.fastify.inject({ url: '/', headers });
        expect(versions.json()).to.have.nested.property('versions[0].id', 'v2.1');
        expect(versions.headers.vary).to.equal('Accept');
      }
    }));

  it('loads nothing from elsewhere, makes nothing of text, and is not sent twice (SEC-06)', () =>
    withHttp(async ({ app }) => {
      const names = readdirSync(FOLDER);
      expect(names).to.include.members(['index.html', 'main.js', 'style.css']);
      for (const name of names) {
        const { statusCode, headers, body } = await app.fastify.inject(`/page/${name}`);
        expect(statusCode, name).to.equal(200);
        expect(body).to.equal(readFileSync(join(FOLDER, name), 'utf8'));
        expect(headers['x-content-type-options']).to.equal('nosniff');
        const policy = raw(headers, 'content-security-policy');
        for (const part of ["default-src 'none'", "script-src 'self'", "require-trusted-types-for 'script'"])
          expect(policy).to.contain(part);
        expect(policy).to.not.match(/unsafe|https?:|\*/);
        const known = { 'if-none-match': `"other", ${raw(headers, 'etag')}` };
        const again = await app.fastify.inject({ url: `/page/${name}`, headers: known });
        expect([again.statusCode, again.body]).to.deep.equal([304, '']);
        const any = { url: `/page/${name}`, headers: { 'if-none-match': '*' } };
        expect((await app.fastify.inject(any)).statusCode).to.equal(304);
        const links = body.replaceAll('http://www.w3.org/2000/svg', '');
        expect(links, name).to.not.match(/https?:|\/\/\w|innerHTML|outerHTML|insertAdjacentHTML|\beval\b/);
        for (const [, wanted] of links.matchAll(/(?:from '\.|(?:src|href)="page)\/([\w.-]+)/g))
          expect(names).to.include(wanted);
      }
      for (const path of ['/page/other.js', '/page/..%2fpackage.json', '/page/__proto__', '/page/'])
        expect((await app.fastify.inject(path)).statusCode, path).to.equal(404);
    }));

  it('needs no sign-in while everybody is an admin', () =>
    withHttp(async ({ app }) => {
      const { statusCode, body } = await app.fastify.inject('/page/session');
      expect([statusCode, JSON.parse(body)]).to.deep.equal([200, { user: null, open: true }]);
    }));

  it('signs in with a token, for a cookie that no script reads and no other site sends (SEC-04)', () =>
    withHttp(
      async ({ app }) => {
        const signIn = (payload: object) =>
          app.fastify.inject({ method: 'POST', url: '/page/session', headers: FROM_PAGE, payload });
        expect((await app.fastify.inject('/page/session')).statusCode).to.equal(401);
        expect((await signIn({ token: 'another-token' })).statusCode).to.equal(401);
        expect((await signIn({ token: 7 })).statusCode).to.equal(400);
        const { statusCode, headers, body } = await signIn({ token: 'token-of-ann' });
        expect([statusCode, body]).to.deep.equal([204, '']);
        const set = raw(headers, 'set-cookie');
        expect(set).to.match(/^ebbgate_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
        const cookie = set.split(';')[0] ?? '';
        const who = await app.fastify.inject({ url: '/page/session', headers: { cookie } });
        expect(who.json()).to.deep.equal({ user: 'ann', open: false });
        const out = await app.fastify.inject({
          method: 'DELETE',
          url: '/page/session',
          headers: { cookie, ...FROM_PAGE },
        });
        expect(raw(out.headers, 'set-cookie')).to.match(/^ebbgate_session=; .*Max-Age=0$/);
        expect((await app.fastify.inject({ url: '/page/session', headers: { cookie } })).statusCode).to.equal(
          401,
        );
      },
      { validator: validator() },
    ));

  it('changes something by its cookie only with a header that forms and other sites cannot send (SEC-06)', () =>
    withHttp(
      async (bed) => {
        const uuid = await bed.service('host1');
        const signedIn = await bed.app.fastify.inject({
          method: 'POST',
          url: '/page/session',
          payload: { token: 'token-of-ann' },
        });
        const cookie = raw(signedIn.headers, 'set-cookie').split(';')[0] ?? '';
        const put = async (headers: Readonly<Record<string, string>>): Promise<number> => {
          const how = { version: '2.53', headers: { cookie, ...headers }, body: { forced_down: true } };
          return (await bed.send('PUT', `/v2.1/os-services/${uuid}`, how)).status;
        };
        expect(await put({})).to.equal(401);
        expect(await put({ ...FROM_PAGE, 'sec-fetch-site': 'cross-site' })).to.equal(403);
        expect((await bed.records.services.get('compute', 'host1')).forcedDown).to.equal(false);
        expect(await put({ ...FROM_PAGE, 'sec-fetch-site': 'same-origin' })).to.equal(200);
        expect((await bed.records.services.get('compute', 'host1')).forcedDownNote?.by).to.equal('ann');
      },
      { validator: validator() },
    ));

  it('is for no page from elsewhere while everybody is an admin; a link to it may be anywhere (SEC-06)', () =>
    withHttp(async ({ app }) => {
      for (const site of ['cross-site', 'same-site']) {
        const from = async (url: string, mode: string, method: 'GET' | 'POST' = 'GET'): Promise<number> => {
          const headers = { ...HTML, 'sec-fetch-site': site, 'sec-fetch-mode': mode };
          return (await app.fastify.inject({ method, url, headers })).statusCode;
        };
        expect(await from('/', 'navigate')).to.equal(200);
        expect(await from('/page/events', 'cors')).to.equal(403);
        expect(await from('/v2.1/os-services', 'no-cors')).to.equal(403);
        expect(await from('/v2.1/os-services', 'navigate', 'POST')).to.equal(403);
      }
    }));

  it('shows events to who may list all, as long as that is so (SEC-06)', async () => {
    const tokens = new Map(TOKENS);
    await withPage(
      async (page) => {
        const as = (token: string) => page.reader({ 'x-auth-token': token });
        expect((await page.reader()).status).to.equal(401);
        expect((await as('token-of-bob')).status).to.equal(403);
        const reader = await as('token-of-ann');
        expect(reader.headers).to.include({
          'content-type': 'text/event-stream; charset=utf-8',
          'cache-control': 'no-store',
        });
        await reader.beat(1);
        tokens.delete('token-of-ann');
        await reader.ended;
      },
      { validator: validator(tokens), policy: new Policy(new Map()), streams: { heartbeatMs: 5 } },
    );
  });

  it('remembers so many sessions, and forgets the one that was used longest ago', () => {
    const sessions = new Sessions();
    const begun = (name: string): { readonly cookie: string } => ({
      cookie: sessions.begin(name).split(';')[0] ?? '',
    });
    const [first, second] = [begun('first'), begun('second')];
    for (let more = 2; more < 1000; more += 1) sessions.begin('more');
    expect(sessions.tokenOf('GET', first)).to.equal('first'); // used just now
    sessions.begin('one too many');
    expect([first, second].map((headers) => sessions.tokenOf('GET', headers))).to.deep.equal([
      'first',
      undefined,
    ]);
    for (const cookie of ['ebbgate_session=', 'ebbgate_session=__proto__', 'x', ';;=;', ''])
      expect(sessions.tokenOf('GET', { cookie })).to.equal(undefined);
  });
});

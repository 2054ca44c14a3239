import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigurationError } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { isLoopback } from '#compute/http/auth.js';
import { readPolicyFile } from '#compute/http/policy-file.js';
import { Policy } from '#compute/http/policy.js';
import { TokenFile } from '#compute/http/token-file.js';
import { CapturedLog } from '../../support/captured-log.js';
import { type Answered, withHttp } from './http-bed.js';

const LIST = '/v2.1/os-services';
const SECRET = 'a-token-of-an-admin';

function inFolder<T>(work: (file: (name: string, content: unknown) => string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'ebbgate-test-'));
  const file = (name: string, content: unknown): string => {
    const path = join(folder, name);
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content), { mode: 0o600 });
    return path;
  };
  try {
    return work(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function tokens(entries: readonly object[], log = new CapturedLog()): TokenFile {
  return inFolder((file) => new TokenFile(file('tokens.json', { tokens: entries }), log));
}

/** The message of what is thrown. */
function refusal(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    expect(error).to.be.instanceOf(ConfigurationError);
    return (error as Error).message;
  }
  throw new Error('It was not refused');
}

const ADMIN = { token: SECRET, user: 'ann', project: 'p1', roles: ['admin'] };
const READER = {
  sha256: createHash('sha256').update('a-token-of-a-reader').digest('hex'),
  user: 'bob',
  project: 'p2',
  roles: ['Reader'],
};

describe('compute: access to the HTTP API', () => {
  it('asks for a token as the middleware of Keystone does, and tells nothing to who has none (FD-19)', () =>
    withHttp(
      async (bed) => {
        for (const token of [undefined, '', 'wrong-token', `${SECRET}x`]) {
          const answer = await bed.send('GET', LIST, token === undefined ? {} : { token });
          expect(answer.status).to.equal(401);
          expect(answer.headers['www-authenticate']).to.match(/^Keystone uri=/);
          expect(answer.body).to.deep.equal({
            error: {
              message: 'The request you have made requires authentication.',
              code: 401,
              title: 'Unauthorized',
            },
          });
        }
        expect((await bed.send('GET', '/v2.1/unknown', {})).status).to.equal(401);
        expect((await bed.send('GET', LIST, { token: SECRET })).status).to.equal(200);
      },
      { validator: tokens([ADMIN, READER]) },
    ));

  it('lets admins do everything and others nothing, by default (FD-19)', () =>
    withHttp(
      async (bed) => {
        await bed.service('host1');
        const token = 'a-token-of-a-reader';
        const body = { binary: 'nova-compute', host: 'host1', forced_down: true };
        const answers: Answered[] = [
          await bed.send('GET', LIST, { token }),
          await bed.send('PUT', `${LIST}/force-down`, { token, body }),
          await bed.send('DELETE', `${LIST}/1`, { token }),
        ];
        const messages = answers.map(({ body: answered }) => answered.forbidden?.message);
        expect(messages).to.deep.equal(
          ['list', 'update', 'delete'].map(
            (what) => `Policy doesn't allow os_compute_api:os-services:${what} to be performed.`,
          ),
        );
        expect(answers.map(({ status }) => status)).to.deep.equal([403, 403, 403]);
        expect((await bed.records.services.get('compute', 'host1')).forcedDown).to.equal(false);
        // What was sent is looked at before whether it is allowed, what is there after it.
        const wrong = { ...body, forced_down: 1 };
        expect((await bed.send('PUT', `${LIST}/force-down`, { token, body: wrong })).status).to.equal(400);
        const other = { ...body, host: 'other' };
        expect((await bed.send('PUT', `${LIST}/force-down`, { token, body: other })).status).to.equal(403);
      },
      { validator: tokens([ADMIN, READER]) },
    ));

  it('takes the rules of a policy file under their names upstream, also the one of old (FD-19)', () =>
    withHttp(
      async (bed) => {
        const token = 'a-token-of-a-reader';
        expect((await bed.send('GET', LIST, { token })).status).to.equal(200);
        expect((await bed.send('DELETE', `${LIST}/1`, { token })).status).to.equal(403);
        expect((await bed.send('DELETE', `${LIST}/1`, { token: SECRET })).status).to.equal(404);
      },
      {
        validator: tokens([ADMIN, READER]),
        policy: inFolder((file) =>
          readPolicyFile(
            file('policy.json', {
              'os_compute_api:os-services:list': 'rule:context_is_admin or role:reader',
            }),
            new CapturedLog(),
          ),
        ),
      },
    ));

  it('reads rules with and, or, not and parentheses, and refuses what is none', () => {
    const allows = (text: string, ...roles: string[]): boolean =>
      new Policy(new Map([['x', text]])).allows('x', { roles });
    expect(allows('role:a and role:b', 'a', 'b')).to.equal(true);
    expect(allows('role:a and role:b', 'a')).to.equal(false);
    expect(allows('role:c or role:a and role:b', 'c')).to.equal(true);
    expect(allows('(role:c or role:a) and not role:b', 'a', 'b')).to.equal(false);
    expect(allows('(role:c or role:a) and not role:b', 'A')).to.equal(true);
    expect([allows('@'), allows(''), allows('!'), allows('rule:context_is_admin', 'admin')]).to.deep.equal([
      true,
      true,
      false,
      true,
    ]);
    const log = new CapturedLog();
    const old = new Policy(new Map([['os_compute_api:os-services', '@']]), log);
    expect(old.allows('os_compute_api:os-services:update', { roles: [] })).to.equal(true);
    expect(log.at('warn').length).to.equal(1);
    expect(new Policy(new Map()).allows('constructor', { roles: [] })).to.equal(false);
    for (const [text, why] of [
      ['role:a role:b', 'not expected'],
      ['role:a and', 'ends too early'],
      ['(role:a', 'not closed'],
      ['project_id:%(project_id)s', 'is none of'],
      [`${'('.repeat(60)}@`, 'nested'],
    ] as const) {
      expect(refusal(() => new Policy(new Map([['x', text]])))).to.contain(why);
    }
    const circle = new Map([
      ['x', 'rule:y'],
      ['y', 'not rule:x'],
    ]);
    expect(refusal(() => new Policy(circle))).to.contain('leads back to itself');
  });

  it('refuses a token file without showing what is in it, and warns of one that others can read (SEC-04)', () => {
    const log = new CapturedLog();
    const of = (content: unknown): string =>
      refusal(() => inFolder((file) => new TokenFile(file('tokens.json', content), log)));
    expect(of(`{"tokens": [{"token": "${SECRET}"`)).to.not.contain('a-token');
    const texts = [
      of({ tokens: [] }),
      of({ tokens: [{ ...ADMIN, sha256: READER.sha256 }] }),
      of({ tokens: [{ user: 'ann' }] }),
      of({ tokens: [{ ...ADMIN, [SECRET]: 1 }] }),
      of({ tokens: [{ ...ADMIN, token: 1 }] }),
    ];
    expect(texts[1]).to.contain('one of sha256 and token');
    expect(
      texts
        .slice(0, 3)
        .concat(texts[4] ?? '')
        .join(),
    ).to.not.contain(SECRET);
    expect(refusal(() => new TokenFile('/nowhere/tokens.json', log))).to.contain('cannot be read');
    expect(log.ordinaryText()).to.not.contain(SECRET);
  });

  it('takes the project of the path where nobody has a token, and else that of the token alone (FD-15)', async () => {
    await withHttp(
      async (bed) => {
        expect((await bed.send('GET', '/v2.1/p1/os-services', { token: SECRET })).status).to.equal(200);
        const other = await bed.send('GET', '/v2.1/p2/os-services', { token: SECRET });
        expect([other.status, other.body.badRequest?.message]).to.deep.equal([
          400,
          "Malformed request URL: URL's project_id doesn't match the project of the token",
        ]);
      },
      { validator: tokens([ADMIN]) },
    );
    await withHttp(async (bed) => {
      expect((await bed.send('GET', '/v2.1/any/os-services', { token: 'any' })).status).to.equal(200);
    });
  });

  it('is for its own machine alone while everybody is an admin, also when a page of the web says that it is there', () =>
    withHttp(async (bed) => {
      expect(['localhost', '127.0.0.1', '127.9.9.9', '::1', '[::1]'].map(isLoopback)).to.not.include(false);
      expect(
        ['0.0.0.0', '::', '10.0.0.1', 'example.org', '127.0.0.1.example.org'].map(isLoopback),
      ).to.not.include(true);
      const answer = await bed.send('GET', LIST, { headers: { host: 'rebound.example.org' } });
      expect(answer.status).to.equal(403);
      expect((await bed.send('GET', LIST, { headers: { host: '127.0.0.1:8774' } })).status).to.equal(200);
    }));

  it('keeps tokens out of what it logs and answers (SEC-04)', async () => {
    const log = new CapturedLog();
    await withHttp(
      async (bed) => {
        const answers = [
          await bed.send('GET', `${LIST}?token=x`, { token: 'wrong-but-secret', version: '2.75' }),
          await bed.send('PUT', `${LIST}/force-down`, { token: SECRET, body: { adminPass: SECRET } }),
        ];
        expect(JSON.stringify(answers)).to.not.match(/secret|a-token/);
        expect(log.lines.length).to.be.above(0);
        expect(JSON.stringify(log.lines)).to.not.match(/wrong-but-secret|a-token/);
      },
      { validator: tokens([ADMIN], log) },
      log,
    );
  });
});

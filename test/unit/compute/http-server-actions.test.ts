import type { InstanceFields } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { Policy } from '#compute/http/policy.js';
import { CIRROS, DEST, type HttpCloud, refusal, SOURCE, withHttpCloud } from './http-cloud.js';
import { type Answered, type HttpBed, withHttp } from './http-bed.js';
import { instanceOf } from './http-instances.js';

type Fields = Partial<InstanceFields>;

/** What can be asked of a server that runs, and what is answered. */
const PLAIN: readonly (readonly [body: object, word: string, wrong: Fields])[] = [
  [{ 'os-start': null }, 'start', { vm_state: 'active' }],
  [{ 'os-stop': null }, 'stop', { vm_state: 'stopped' }],
  [{ reboot: { type: 'SOFT' } }, 'reboot', { vm_state: 'stopped' }],
  [{ reboot: { type: 'hard' } }, 'reboot', { vm_state: 'suspended' }],
  [{ pause: null }, 'pause', { vm_state: 'paused' }],
  [{ unpause: null }, 'unpause', { vm_state: 'active' }],
  [{ suspend: null }, 'suspend', { vm_state: 'suspended' }],
  [{ resume: null }, 'resume', { vm_state: 'active' }],
  [{ rescue: null }, 'rescue', { vm_state: 'rescued' }],
  [{ unrescue: null }, 'unrescue', { vm_state: 'active' }],
  [{ shelve: null }, 'shelve', { vm_state: 'shelved' }],
  [{ shelveOffload: null }, 'shelveOffload', { vm_state: 'active' }],
  [{ unshelve: null }, 'unshelve', { vm_state: 'active' }],
  [{ changePassword: { adminPass: 'x' } }, 'changePassword', { vm_state: 'stopped' }],
  [{ trigger_crash_dump: null }, 'trigger_crash_dump', { vm_state: 'stopped' }],
  [{ createImage: { name: 'i' } }, 'createImage', { vm_state: 'error' }],
  [{ migrate: null }, 'migrate', { vm_state: 'paused' }],
  [{ resize: { flavorRef: '2' } }, 'resize', { vm_state: 'paused' }],
  [{ confirmResize: null }, 'confirmResize', { vm_state: 'active' }],
  [{ revertResize: null }, 'revertResize', { vm_state: 'active' }],
  [{ rebuild: { imageRef: 'cirros' } }, 'rebuild', { vm_state: 'paused' }],
  [{ 'os-migrateLive': { host: null, block_migration: 'auto' } }, 'os-migrateLive', { vm_state: 'stopped' }],
];

async function act(bed: HttpBed, id: string, body: object, version = 'latest'): Promise<Answered> {
  return bed.send('POST', `/v2.1/servers/${id}/action`, { body, version });
}

describe('compute: actions of servers over HTTP, refused', () => {
  it("with 409 and the state in upstream's words, each, and nothing is written (HTTP-03)", () =>
    withHttp(async (bed) => {
      await bed.service('h1');
      for (const [body, word, wrong] of PLAIN) {
        const id = await instanceOf(bed.records, { host: 'h1', ...wrong });
        const before = JSON.stringify([...(await bed.records.instances.get(id)).entries()]);
        const answer = await act(bed, id, body);
        const text = `Cannot '${word}' instance ${id} while it is in vm_state ${String(wrong.vm_state)}`;
        expect([answer.status, refusal(answer)], word).to.deep.equal([409, text]);
        expect(JSON.stringify([...(await bed.records.instances.get(id)).entries()])).to.equal(before);
      }
    }));

  it('with the task, when something is being done to it; with its state, when it is on no host', () =>
    withHttp(async (bed) => {
      await bed.service('h1');
      const busy = await instanceOf(bed.records, { host: 'h1', task_state: 'rebooting' });
      expect(refusal(await act(bed, busy, { pause: null }))).to.equal(
        `Cannot 'pause' instance ${busy} while it is in task_state rebooting`,
      );
      const young = await instanceOf(bed.records, { vm_state: 'building', task_state: 'scheduling' });
      const answer = await act(bed, young, { reboot: { type: 'HARD' } });
      expect(answer.status).to.equal(409);
      expect(refusal(answer)).to.equal(`Cannot 'reboot' instance ${young} while it is in vm_state building`);
    }));

  it('at once with 409 when the host is down or forced down, and nothing is written (COMP-16, FD-28)', () =>
    withHttp(async (bed) => {
      await bed.service('h1');
      const right: readonly (readonly [object, Fields])[] = [
        [{ 'os-start': null }, { vm_state: 'stopped' }],
        [{ 'os-stop': null }, {}],
        [{ reboot: { type: 'HARD' } }, {}],
        [{ pause: null }, {}],
        [{ unpause: null }, { vm_state: 'paused' }],
        [{ shelve: null }, {}],
        [{ migrate: null }, {}],
        [{ resize: { flavorRef: '2' } }, {}],
        [{ rebuild: { imageRef: 'cirros' } }, {}],
        [{ createImage: { name: 'i' } }, {}],
        [{ 'os-getConsoleOutput': {} }, {}],
        [{ 'os-migrateLive': { host: null, block_migration: 'auto' } }, {}],
      ];
      const whyNot = async (): Promise<void> => {
        for (const [body, fields] of right) {
          const id = await instanceOf(bed.records, { host: 'h1', ...fields });
          const answer = await act(bed, id, body);
          expect(answer.status, JSON.stringify(body)).to.equal(409);
          expect(refusal(answer)).to.equal('Compute service of h1 is down');
          expect((await bed.records.instances.get(id)).get('task_state')).to.equal(null);
        }
      };
      await bed.records.services.update('compute', 'h1', { forcedDown: true });
      await whyNot();
      await bed.records.services.update('compute', 'h1', { forcedDown: false });
      bed.nowMs += 100_000;
      await whyNot();
    }));

  it('confirming, while the source of the resize is down (COMP-16, FD-28)', () =>
    withHttp(async (bed) => {
      await bed.service('h1');
      await bed.service('h2');
      const id = await instanceOf(bed.records, { host: 'h2', vm_state: 'resized' });
      expect(refusal(await act(bed, id, { confirmResize: null }))).to.equal('Instance has not been resized.');
      await bed.migration({
        instance_uuid: id,
        status: 'finished',
        migration_type: 'resize',
        source_compute: 'h1',
        dest_compute: 'h2',
      });
      await bed.records.services.update('compute', 'h1', { forcedDown: true });
      const answer = await act(bed, id, { confirmResize: null });
      expect([answer.status, refusal(answer)]).to.deep.equal([409, 'Compute service of h1 is down']);
    }));

  it('to hosts that are not there, are down, or are its own, each with its code (FD-28)', () =>
    withHttp(async (bed) => {
      await bed.service('h1');
      await bed.service('h2');
      await bed.records.services.update('compute', 'h2', { forcedDown: true });
      const id = await instanceOf(bed.records, { host: 'h1' });
      const live = (host: string) => ({ 'os-migrateLive': { host, block_migration: 'auto' } });
      const cases: readonly (readonly [object, number])[] = [
        [live('h9'), 400],
        [live('h1'), 400],
        [live('h2'), 409],
        [{ migrate: { host: 'h9' } }, 400],
        [{ migrate: { host: 'h1' } }, 400],
        [{ migrate: { host: 'h2' } }, 409],
        [{ evacuate: { host: 'h9' } }, 404],
        [{ evacuate: { host: 'h1' } }, 400],
        [{ evacuate: { host: 'h2' } }, 409],
        [{ evacuate: {} }, 400],
      ];
      for (const [body, status] of cases)
        expect((await act(bed, id, body)).status, JSON.stringify(body)).to.equal(status);
      expect(refusal(await act(bed, id, { evacuate: {} }))).to.equal(
        'Compute service of h1 is still in use.',
      );
      const paused = await instanceOf(bed.records, { host: 'h2', vm_state: 'paused' });
      expect(refusal(await act(bed, paused, { evacuate: {} }))).to.equal(
        `Cannot 'evacuate' instance ${paused} while it is in vm_state paused`,
      );
      const stopped = await instanceOf(bed.records, { host: 'h1', vm_state: 'stopped' });
      expect((await act(bed, stopped, live('h9'))).status, 'the state goes first').to.equal(409);
      expect((await bed.records.instances.get(id)).get('task_state')).to.equal(null);
    }));

  it('when the body is not what the version has', () =>
    withHttp(async (bed) => {
      await bed.service('h1');
      const id = await instanceOf(bed.records, { host: 'h1' });
      const live = { host: null, block_migration: true };
      const cases: readonly (readonly [body: unknown, version: string, text: string])[] = [
        [{}, '2.1', 'must have one member'],
        [[], '2.1', 'must have one member'],
        [{ pause: null, unpause: null }, '2.1', 'must have one member'],
        [{ odd: null }, '2.1', 'There is no such action: odd'],
        [{ constructor: null }, '2.1', 'There is no such action'],
        [{ reboot: null }, '2.1', 'body'],
        [{ reboot: { type: 'warm' } }, '2.1', 'type'],
        [{ resize: { flavorRef: 'm9' } }, '2.1', 'could not be found'],
        [{ resize: { flavorRef: 1 } }, '2.1', 'must change flavor'],
        [{ 'os-migrateLive': live }, '2.24', 'disk_over_commit'],
        [{ 'os-migrateLive': { ...live, disk_over_commit: false } }, '2.25', 'disk_over_commit'],
        [{ 'os-migrateLive': { ...live, block_migration: 'auto' } }, '2.24', 'block_migration'],
        [{ 'os-migrateLive': { ...live, force: true } }, '2.29', 'force'],
        [{ 'os-migrateLive': { ...live, force: true } }, '2.67', "Can't force"],
        [{ 'os-migrateLive': { ...live, force: true } }, '2.68', 'force'],
        [{ migrate: { x: 1 } }, '2.56', 'x'],
        [{ evacuate: {} }, '2.13', 'onSharedStorage'],
        [{ evacuate: { onSharedStorage: true } }, '2.14', 'onSharedStorage'],
        [{ evacuate: { force: true } }, '2.28', 'force'],
        [{ evacuate: { force: true } }, '2.68', 'force'],
        [{ rebuild: {} }, '2.1', 'imageRef'],
        [{ rebuild: { imageRef: 'i', description: 'x' } }, '2.18', 'description'],
        [{ rebuild: { imageRef: 'i', key_name: 'x' } }, '2.53', 'key_name'],
        [{ rebuild: { imageRef: 'i', user_data: null } }, '2.56', 'user_data'],
        [{ 'os-getConsoleOutput': { length: -2 } }, '2.1', 'length'],
      ];
      for (const [body, version, text] of cases) {
        const answer = await act(bed, id, body as object, version);
        expect([answer.status, version], JSON.stringify(body)).to.deep.equal([400, version]);
        expect(refusal(answer), JSON.stringify(body)).to.contain(text);
      }
      expect((await act(bed, id, { trigger_crash_dump: null }, '2.16')).status).to.equal(404);
    }));

  it('by the policy, before anything is looked at', () =>
    withHttp(
      async (bed) => {
        const id = await instanceOf(bed.records);
        const answer = await act(bed, id, { 'os-stop': null });
        expect([answer.status, refusal(answer)]).to.deep.equal([
          403,
          "Policy doesn't allow os_compute_api:servers:stop to be performed.",
        ]);
        expect((await act(bed, id, { 'os-start': null })).status).to.equal(409);
      },
      { policy: new Policy(new Map([['os_compute_api:servers:stop', '!']])) },
    ));
});

describe('compute: actions of servers over HTTP, done', () => {
  /** Asks, and waits until the server is as it should be then. */
  async function done(
    http: HttpCloud,
    id: string,
    body: object,
    to: string,
    status = 202,
  ): Promise<Answered> {
    const answer = await http.act(id, body);
    expect(answer.status, JSON.stringify([body, answer.body])).to.equal(status);
    await http.cloud.becomes(id, to);
    return answer;
  }

  it('hold it, put it away and mend it, with the codes of upstream', () =>
    withHttpCloud(async (http) => {
      const id = await http.boot();
      await done(http, id, { pause: null }, 'paused/-');
      expect((await http.shown(id))['status']).to.equal('PAUSED');
      await done(http, id, { unpause: null }, 'active/-');
      await done(http, id, { suspend: null }, 'suspended/-');
      await done(http, id, { resume: null }, 'active/-');
      await done(http, id, { reboot: { type: 'SOFT' } }, 'active/-');
      await done(http, id, { reboot: { type: 'HARD' } }, 'active/-');
      const rescued = await done(http, id, { rescue: { adminPass: 'x' } }, 'rescued/-', 200);
      expect(rescued.body).to.deep.equal({ adminPass: 'x' });
      expect((await http.shown(id))['status']).to.equal('RESCUE');
      await done(http, id, { unrescue: null }, 'active/-');
      await done(http, id, { shelve: null }, 'shelved_offloaded/-');
      expect((await http.shown(id))['OS-EXT-SRV-ATTR:host']).to.equal(null);
      await done(http, id, { unshelve: null }, 'active/-');
      expect((await http.act(id, { changePassword: { adminPass: 'y' } })).status).to.equal(202);
      expect((await http.act(id, { trigger_crash_dump: null })).status).to.equal(202);
    }));

  it('make an image, told in the body from 2.45, in a header before', () =>
    withHttpCloud(async (http) => {
      const id = await http.boot();
      const body = { createImage: { name: 'copy', metadata: {} } };
      const { body: image } = await done(http, id, body, 'active/-');
      expect(image)
        .to.have.property('image_id')
        .that.matches(/^[0-9a-f-]{36}$/);
      const before = await http.act(id, body, '2.44');
      expect([before.status, before.body]).to.deep.equal([202, {}]);
      expect(before.headers['location']).to.match(/^http:\/\/localhost:80\/images\/[0-9a-f-]{36}$/);
    }));

  it('tell of the console: its output, and where it is', () =>
    withHttpCloud(async (http) => {
      const id = await http.boot();
      const output = async (length: unknown): Promise<unknown> =>
        (await http.act(id, { 'os-getConsoleOutput': { length } })).body;
      const whole = ['Linux version 0.0.1 (fake)', `guest ${id}`, 'is running'];
      expect(await output(null)).to.deep.equal({ output: whole.join('\n') });
      expect(await output(-1)).to.deep.equal({ output: whole.join('\n') });
      expect(await output('1')).to.deep.equal({ output: 'is running' });
      const post = (remote_console: object, version: string) =>
        http.bed.send('POST', `/v2.1/servers/${id}/remote-consoles`, { body: { remote_console }, version });
      const opened = await post({ protocol: 'vnc', type: 'novnc' }, '2.6');
      expect(opened.status).to.equal(200);
      const { url } = (opened.body as unknown as { remote_console: { url: string } }).remote_console;
      expect(url).to.match(/^http:\/\/compute-a:5900\/vnc_auto.html\?path=%3Ftoken%3D[0-9a-f-]{36}$/);
      expect((await post({ protocol: 'vnc', type: 'serial' }, '2.6')).status).to.equal(400);
      expect((await post({ protocol: 'vnc', type: 'novnc' }, '2.5')).status).to.equal(404);
      const old = await http.act(id, { 'os-getSerialConsole': { type: 'serial' } }, '2.5');
      expect(old.status).to.equal(200);
      expect(JSON.stringify(old.body)).to.match(/"type":"serial","url":"ws:\/\/compute-a:5900\/\?token=/);
      expect((await http.act(id, { 'os-getVNCConsole': { type: 'novnc' } }, '2.6')).status).to.equal(404);
      await http.cloud.virt(SOURCE).destroy(id);
      expect(refusal(await post({ protocol: 'spice', type: 'spice-html5' }, '2.6'))).to.equal(
        `Instance ${id} is not ready`,
      );
    }));

  it('rebuild it with what was said, and answer with the server and its password', () =>
    withHttpCloud(async (http) => {
      const id = await http.boot({ metadata: { a: '1' } });
      const wish = {
        imageRef: 'fedora',
        name: 'new',
        metadata: { b: '2' },
        description: 'd',
        adminPass: 'p',
      };
      const { body } = await done(http, id, { rebuild: wish }, 'active/-');
      expect(body.server).to.include({
        id,
        name: 'new',
        status: 'REBUILD',
        adminPass: 'p',
        description: 'd',
      });
      expect(await http.shown(id)).to.deep.include({ metadata: { b: '2' }, description: 'd' });
      const plain = await http.act(id, { rebuild: { imageRef: 'fedora' } }, '2.1');
      expect(plain.body.server).not.to.have.any.keys('OS-EXT-STS:vm_state', 'key_name', 'user_data');
      expect(plain.body.server['adminPass']).to.match(/^\w{12}$/);
    }));

  it('migrate it live: before 2.34 the answer waits for the checks, and tells why it was refused', () =>
    withHttpCloud(async (http) => {
      const id = await http.boot();
      const body = { 'os-migrateLive': { host: DEST, block_migration: false } };
      await http.cloud.cloud.host(DEST).terminate();
      const refused = await http.act(
        id,
        { 'os-migrateLive': { host: null, block_migration: false } },
        '2.33',
      );
      expect(refused.status).to.equal(400);
      expect(refusal(refused)).to.contain('host');
      await http.cloud.becomes(id, 'active/-');
      await http.cloud.cloud.host(DEST).start();
      expect((await http.act(id, body, '2.33')).status).to.equal(202);
      const [, move] = await http.cloud.cloud.records.migrations.find({ instance_uuid: id });
      expect(move?.get('status')).not.to.equal('accepted');
      await http.cloud.migrationBecomes(id, 'completed');
    }));

  it('evacuate it: with a password before 2.14, stopped from 2.95 (FD-2)', () =>
    withHttpCloud(async (http) => {
      const [first, second] = [await http.boot(), await http.boot()];
      await http.cloud.crash(SOURCE);
      const before = await http.act(first, { evacuate: { onSharedStorage: false, adminPass: 'x' } }, '2.1');
      expect([before.status, before.body]).to.deep.equal([200, { adminPass: 'x' }]);
      await http.cloud.migrationBecomes(first, 'done');
      expect((await http.shown(first))['status']).to.equal('ACTIVE');
      const after = await http.act(second, { evacuate: { host: DEST } }, '2.95');
      expect([after.status, after.body]).to.deep.equal([200, {}]);
      await http.cloud.migrationBecomes(second, 'done');
      expect((await http.shown(second))['status']).to.equal('SHUTOFF');
    }));
});

describe('compute: states of servers over HTTP', () => {
  it('are set by administrators alone, whatever is done to it, and also when it is locked; all else stays', () =>
    withHttp(
      async (bed) => {
        const id = await instanceOf(bed.records, {
          ...{ host: 'h1', vm_state: 'active', task_state: 'migrating', project_id: 'p1', locked: true },
        });
        const before = new Map((await bed.records.instances.get(id)).entries());
        const reset = (role: string, state: unknown) =>
          bed.send('POST', `/v2.1/p1/servers/${id}/action`, {
            token: role,
            body: { 'os-resetState': { state } },
          });
        expect((await reset('user', 'error')).status).to.equal(403);
        expect((await reset('admin', 'stopped')).status).to.equal(400);
        for (const state of ['error', 'active']) {
          expect((await reset('admin', state)).status).to.equal(202);
          const after = new Map((await bed.records.instances.get(id)).entries());
          const updated = after.get('updated_at');
          const wanted = [
            ...before,
            ['vm_state', state],
            ['task_state', null],
            ['updated_at', updated],
          ] as const;
          expect(Object.fromEntries(after)).to.deep.equal(Object.fromEntries(wanted));
        }
      },
      {
        validator: {
          isOpen: false,
          validate: (token) => ({ userId: 'ann', projectId: null, roles: [token ?? 'user'] }),
        },
      },
    ));
});

describe('compute: locks of servers over HTTP', () => {
  const users = {
    policy: new Policy(
      new Map([
        ['os_compute_api:servers:create', '@'],
        ['os_compute_api:servers:delete', '@'],
        ['os_compute_api:servers:show', '@'],
        ['os_compute_api:servers:stop', '@'],
        ['os_compute_api:os-lock-server:lock', '@'],
        ['os_compute_api:os-lock-server:unlock', '@'],
      ]),
    ),
    validator: {
      isOpen: false,
      validate: (token: string | undefined) => ({
        userId: 'u',
        projectId: token === 'admin' ? 'p0' : 'p1',
        roles: [token === 'admin' ? 'admin' : 'member'],
      }),
    },
  };

  it('keep users from changing it, and not administrators; what an administrator has locked stays so', () =>
    withHttp(async (bed) => {
      await bed.service('h1');
      const id = await instanceOf(bed.records, { host: 'h1', vm_state: 'stopped' });
      const as = async (token: string, body: object): Promise<readonly unknown[]> => {
        const sent = { body, version: 'latest', token };
        const answer = await bed.send('POST', `/v2.1/servers/${id}/action`, sent);
        return [answer.status, refusal(answer)];
      };
      expect(await as('user', { lock: { locked_reason: 'mine' } })).to.deep.equal([202, undefined]);
      const shown = async (): Promise<unknown> => {
        const sent = { version: 'latest', token: 'user' };
        const { locked, locked_reason } = (await bed.send('GET', `/v2.1/servers/${id}`, sent)).body.server;
        return [locked, locked_reason];
      };
      expect(await shown()).to.deep.equal([true, 'mine']);
      expect(await as('user', { 'os-stop': null })).to.deep.equal([409, `Instance ${id} is locked`]);
      const removed = await bed.send('DELETE', `/v2.1/servers/${id}`, { token: 'user' });
      expect(refusal(removed)).to.equal(`Instance ${id} is locked`);
      expect((await as('admin', { 'os-stop': null }))[1]).to.contain('vm_state stopped');
      expect(await as('admin', { lock: null })).to.deep.equal([202, undefined]);
      expect((await as('user', { unlock: null }))[0]).to.equal(403);
      expect(await as('admin', { unlock: null })).to.deep.equal([202, undefined]);
      expect(await shown()).to.deep.equal([false, null]);
      expect((await as('user', { 'os-stop': null }))[1]).to.contain('vm_state stopped');
    }, users));

  it('is nothing that is asked for in a new server', () =>
    withHttp(async (bed) => {
      const body = { server: { ...CIRROS, locked: true } };
      expect((await bed.send('POST', '/v2.1/servers', { body, version: 'latest' })).status).to.equal(400);
    }));
});

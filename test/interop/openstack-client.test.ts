import { writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { DaemonProcess } from '../support/daemon-process.js';
import { openstack, openstackOptions, OpenstackShell } from '../support/rigs/openstack-client.js';
import { type PrivateFolder, privateFolder } from '../support/rigs/private-folder.js';
import { withHttp } from '../unit/compute/http-bed.js';

type Row = Readonly<Record<string, unknown>>;

const TOKEN = 'a-token-of-an-admin';
/** A guest that never leaves by itself when it is moved live. */
const ORDERS = { busy: { copy_mib: 100, bandwidth_mib_s: 1000, dirty_mib_s: 2000 } };

const statusOf = (name: string): string => `server show ${name} -f value -c status`;
const hostOf = (name: string): string => `server show ${name} -f value -c OS-EXT-SRV-ATTR:host`;

describe('the openstack command of Debian, unmodified', function () {
  this.timeout(60_000);
  let cloud: DaemonProcess;
  let url: string;
  let shell: OpenstackShell;
  let folder: PrivateFolder;

  before(async () => {
    folder = await privateFolder('openstack-test');
    const orders = join(folder.path, 'orders.json');
    await writeFile(orders, JSON.stringify(ORDERS));
    const times = ['--boot-ms', '5', '--migration-ms', '40', '--fake-orders', orders];
    const flags = ['--hosts', 'a,b,c', '--listen', '127.0.0.1:0', '--control', 'none', ...times];
    cloud = new DaemonProcess('', ['all-in-one', '--database', 'memory:', ...flags]);
    const listens = await cloud.event(({ kind }) => kind === 'listens');
    url = `http://127.0.0.1:${listens.kind === 'listens' ? listens.port : 0}`;
    [shell] = await Promise.all([OpenstackShell.open(url), cloud.event(({ kind }) => kind === 'serves')]);
  });

  after(async () => {
    const code = await shell.close();
    cloud.child.kill('SIGKILL');
    await cloud.ended;
    await folder.remove();
    expect(code).to.equal(0);
  });

  /** The state of a host, as the list of services has it. */
  async function service(host: string): Promise<Row | undefined> {
    const rows = await shell.json<readonly Row[]>(`compute service list --long --host ${host}`);
    return rows.find((one) => one['Host'] === host);
  }

  /** Makes a server on a host. */
  async function boot(name: string, host: string): Promise<void> {
    const create = `server create --image i1 --flavor m1.small --nic none --host ${host} ${name}`;
    expect(await shell.json<Row>(create)).to.include({ name, image: 'i1 (i1)' });
    await shell.prints(statusOf(name), 'ACTIVE');
    expect(await shell.run(hostOf(name))).to.equal(host);
  }

  async function destroy(name: string): Promise<void> {
    await shell.done(`server delete ${name}`);
    await shell.prints(`server list -f value -c Name --name ${name}`, '');
  }

  it('asks with no token at all for what there is', async () => {
    const list = ['compute', 'service', 'list', '-f', 'json', '-c', 'Binary', '-c', 'Host', '-c', 'State'];
    const options = openstackOptions(url, ['--os-auth-type', 'none']);
    const { code, stdout, stderr } = await openstack([...options, ...list]);
    expect([code, stderr]).to.deep.equal([0, '']);
    expect(JSON.parse(stdout)).to.deep.include.members([
      { Binary: 'nova-compute', Host: 'a', State: 'up' },
      { Binary: 'nova-compute', Host: 'b', State: 'up' },
    ]);
  });

  it('asks with a token of an administrator, and learns that another is none (FD-19)', () =>
    withHttp(
      async (bed) => {
        await bed.service('a');
        await bed.app.fastify.listen({ host: '127.0.0.1', port: 0 });
        const { port } = bed.app.fastify.server.address() as AddressInfo; // it listens on TCP
        const list = async (token: string) => {
          const access = ['--os-auth-type', 'admin_token', '--os-token', token];
          const options = openstackOptions(`http://127.0.0.1:${port}`, access);
          return openstack([...options, 'compute', 'service', 'list', '-f', 'value', '-c', 'Host']);
        };
        const [right, wrong] = await Promise.all([list(TOKEN), list('another-token')]);
        expect([right.code, right.stdout]).to.deep.equal([0, 'a\n']);
        expect(wrong.code).to.equal(1);
        expect(wrong.stderr).to.match(/401: .* requires authentication/);
      },
      {
        validator: {
          isOpen: false,
          validate: (token) =>
            token === TOKEN ? { userId: 'ann', projectId: null, roles: ['admin'] } : undefined,
        },
      },
    ));

  it('shows hypervisors, flavors and zones', async () => {
    const hypervisors = await shell.json<readonly Row[]>('hypervisor list');
    expect(hypervisors.map((one) => [one['Hypervisor Hostname'], one['State']])).to.deep.equal([
      ['a', 'up'],
      ['b', 'up'],
      ['c', 'up'],
    ]);
    const shown = await shell.json<Row>('hypervisor show a');
    expect(shown).to.include({ hypervisor_hostname: 'a', status: 'enabled' });
    expect(shown['uptime']).to.match(/^up \d+ s$/);
    expect(await shell.run('flavor list -f value -c Name')).to.contain('m1.tiny\nm1.small\n');
    expect(await shell.json<Row>('flavor show m1.medium')).to.include({ id: '3', vcpus: 2, ram: 4096 });
    expect(await shell.json<Row>('flavor show 2:64:1')).to.include({ name: '2:64:1', vcpus: 2, ram: 64 });
    expect(await shell.run('availability zone list --compute -f value')).to.contain('nova available');
  });

  it('disables and enables a host, sets it down and up (FD-1)', async () => {
    await shell.done('compute service set --disable --disable-reason maintenance c nova-compute');
    expect(await service('c')).to.include({ Status: 'disabled', 'Disabled Reason': 'maintenance' });
    await shell.done('compute service set --enable c nova-compute');
    expect(await service('c')).to.include({ Status: 'enabled', 'Disabled Reason': null });
    await shell.done('compute service set --disable c nova-compute'); // no other test needs it
    await shell.done('compute service set --down c nova-compute');
    expect(await service('c')).to.include({ Status: 'disabled', State: 'down', 'Forced Down': true });
    await shell.done('compute service set --up c nova-compute');
    expect(await service('c')).to.include({ Status: 'disabled', 'Forced Down': false });
  });

  it('makes, lists and shows a server, stops, starts and reboots it, sets its state, and deletes it', async () => {
    await boot('vm1', 'a');
    const [row] = await shell.json<readonly Row[]>('server list --long');
    expect(row).to.include({ Name: 'vm1', Status: 'ACTIVE', Host: 'a', Flavor: 'm1.small' });
    expect(row).to.include({ 'Image Name': 'i1', 'Power State': 1, 'Host Status': 'UP' });
    await shell.done('server stop vm1');
    await shell.prints(statusOf('vm1'), 'SHUTOFF');
    await shell.done('server start vm1');
    await shell.prints(statusOf('vm1'), 'ACTIVE');
    await shell.done('server reboot --hard vm1');
    await shell.prints(statusOf('vm1'), 'ACTIVE');
    await shell.done('server set --state error vm1');
    await shell.prints(statusOf('vm1'), 'ERROR');
    await shell.done('server set --state active vm1');
    await shell.prints(statusOf('vm1'), 'ACTIVE');
    expect(await shell.run('console log show vm1')).to.contain('guest');
    expect(await shell.run('server resize confirm vm1')).to.match(
      /^Cannot 'confirmResize' instance \S+ while it is in vm_state active \(HTTP 409\)/,
    );
    await destroy('vm1');
  });

  it('migrates a server live and sees how much is copied, and aborts and ends that (decision 25)', async () => {
    await boot('busy', 'a');
    const move = 'server migrate --live-migration --host b busy';
    const number = async (): Promise<string> => {
      await shell.prints('server migration list --status running -f value -c Status', 'running');
      return shell.run('server migration list --status running -f value -c Id');
    };
    await shell.done(move);
    const first = await number();
    const progress = await shell.json<Row>(`server migration show busy ${first}`);
    expect(progress).to.include({ Status: 'running', 'Source Compute': 'a', 'Dest Compute': 'b' });
    expect(progress['Memory Total Bytes']).to.be.above(0);
    await shell.done(`server migration abort busy ${first}`);
    await shell.prints(statusOf('busy'), 'ACTIVE');
    expect(await shell.run(hostOf('busy'))).to.equal('a');
    await shell.done(move);
    await shell.done(`server migration force complete busy ${await number()}`);
    await shell.prints(hostOf('busy'), 'b');
    await shell.prints(statusOf('busy'), 'ACTIVE');
    const ends = 'server migration list --type live-migration -f value -c Status';
    await shell.prints(ends, 'completed\ncancelled');
    await destroy('busy');
  });

  it('migrates and resizes a server, confirms and reverts', async () => {
    await boot('vm2', 'a');
    await shell.done('server migrate vm2');
    await shell.prints(statusOf('vm2'), 'VERIFY_RESIZE');
    await shell.done('server migration confirm vm2');
    await shell.prints(statusOf('vm2'), 'ACTIVE');
    expect(await shell.run(hostOf('vm2'))).to.equal('b');
    const flavor = 'server list --name vm2 -f value -c Flavor';
    await shell.done('server resize --flavor m1.medium vm2');
    await shell.prints(statusOf('vm2'), 'VERIFY_RESIZE');
    await shell.done('server resize revert vm2');
    await shell.prints(statusOf('vm2'), 'ACTIVE');
    expect(await shell.run(flavor)).to.equal('m1.small');
    await shell.done('server resize --flavor 2:4096:40 vm2');
    await shell.prints(statusOf('vm2'), 'VERIFY_RESIZE');
    await shell.done('server resize confirm vm2');
    await shell.prints(statusOf('vm2'), 'ACTIVE');
    expect(await shell.run(flavor)).to.equal('2:4096:40');
    await destroy('vm2');
  });

  it('evacuates a server from a host that is set down, and from no other (FD-2)', async () => {
    await boot('vm3', 'b');
    expect(await shell.run('server evacuate vm3')).to.match(
      /^Compute service of b is still in use\. \(HTTP 400\)/,
    );
    await shell.done('compute service set --down b nova-compute');
    expect(await shell.run('server migrate vm3')).to.contain('(HTTP 409)');
    // This client fails to show what it has asked for, at Nova as here.
    expect(await shell.run('server evacuate vm3')).to.contain("'TupleWithMeta'");
    await shell.prints('server migration list --type evacuation -f value -c Status', 'done');
    await shell.prints(statusOf('vm3'), 'ACTIVE');
    expect(await shell.run(hostOf('vm3'))).to.equal('a');
    await destroy('vm3');
  });
});

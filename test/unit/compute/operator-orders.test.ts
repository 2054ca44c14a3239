import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { overControl } from '#compute/main/control-client.js';
import type { DaemonEvent } from '#compute/main-job/daemon-events.js';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { DaemonProcess } from '../../support/daemon-process.js';

const FOLDER = mkdtempSync(join(tmpdir(), 'ebbgate-test-'));
const CONTROL = join(FOLDER, 'c.sock');
const ORDERS = join(FOLDER, 'orders.json');

function order(orders: Readonly<Record<string, object>>): void {
  writeFileSync(`${ORDERS}.new`, JSON.stringify(orders));
  renameSync(`${ORDERS}.new`, ORDERS);
}

/** What an operator's command says when it has ended well. */
async function typed(...argv: string[]): Promise<string> {
  let [out, err] = ['', ''];
  const code = await overControl(CONTROL, argv, {
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    screen: undefined,
    signal: new AbortController().signal,
  });
  expect([code, err], argv.join(' ')).to.deep.equal([0, '']);
  return out;
}

/** A live migration that has copied more than there is, and still copies. */
function copiesAgain(event: DaemonEvent): boolean {
  if (event.kind !== 'record') return false;
  const record = event.record as { readonly 'nova_object.data'?: Readonly<Record<string, unknown>> };
  const { status, memory_total: total, memory_processed: copied } = record['nova_object.data'] ?? {};
  return status === 'running' && Number(copied) > Number(total);
}

describe('orders of an operator to the fake hypervisor', function () {
  this.timeout(30_000);
  let cloud: DaemonProcess;

  before(async () => {
    order({});
    const files = ['--control', CONTROL, '--fake-orders', ORDERS, '--database', 'memory:'];
    const times = ['--boot-ms', '0', '--migration-ms', '100'];
    cloud = new DaemonProcess('', ['all-in-one', '--hosts', 'a,b', ...files, ...times]);
    await cloud.event(({ kind }) => kind === 'serves');
  });

  after(async () => {
    cloud.child.kill('SIGKILL');
    await cloud.ended;
    rmSync(FOLDER, { recursive: true });
  });

  it('keep one guest from leaving until it is forced to, and fail the boot of another', async () => {
    await typed('instance', 'boot', 'busy', '--host', 'a', '--wait');
    order({
      busy: { copy_mib: 100, bandwidth_mib_s: 1000, dirty_mib_s: 2000 },
      lame: { fail_at: ['create-disks'] },
    });
    await typed('instance', 'live-migrate', 'busy');
    await cloud.event(copiesAgain);
    expect(await typed('instance', 'list')).to.match(/busy .* a -> b running \[/);
    await typed('instance', 'force-complete', 'busy', '--wait');
    expect(await typed('instance', 'show', 'busy')).to.match(/^host +b$/m);

    await typed('instance', 'boot', 'lame');
    await cloud.event((event) => event.kind === 'record' && JSON.stringify(event.record).includes('"error"'));
    expect(await typed('instance', 'show', 'lame')).to.match(/error/);
  });
});

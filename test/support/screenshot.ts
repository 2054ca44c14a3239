import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { overControl } from '#compute/main/control-client.js';
import { DaemonProcess } from './daemon-process.js';
import { launchChromium } from './rigs/chromium.js';

const IMAGE = 'docs/images/operators-page.png';
const WIDTH = 1160;
const FOLDER = mkdtempSync(join(tmpdir(), 'ebbgate-screenshot-'));
const CONTROL = join(FOLDER, 'c.sock');
const HOSTS = ['compute-a', 'compute-b', 'compute-c', 'compute-d', 'compute-e', 'compute-f'] as const;
const INSTANCES: Readonly<Record<string, readonly string[]>> = {
  'compute-a': ['web-1', 'web-2', 'cache-1'],
  'compute-b': ['db-1', 'web-3'],
  'compute-c': ['queue-1', 'mail-1'],
  'compute-d': ['db-2', 'build-1'],
  'compute-e': ['build-2'],
  'compute-f': [],
};

async function command(...argv: string[]): Promise<void> {
  const err = (text: string): void => void process.stderr.write(text);
  const signal = new AbortController().signal;
  await overControl(CONTROL, argv, { out: () => undefined, err, screen: undefined, signal });
}

/** A cloud in which a host drains while two of its instances move, one has failed and one is disabled. */
async function makeBusy(address: string): Promise<void> {
  for (const [host, names] of Object.entries(INSTANCES))
    for (const name of names) await command('instance', 'boot', name, '--host', host, '--wait');
  await command('host', 'set', 'compute-e', '--down');
  await command('host', 'set', 'compute-f', '--disable', '--disable-reason', 'its fan is loud');
  await command('instance', 'live-migrate', 'web-1', '--host', 'compute-b');
  await command('instance', 'live-migrate', 'web-2', '--host', 'compute-c');
  await command('instance', 'live-migrate', 'db-2', '--host', 'compute-c');
  const version = { 'openstack-api-version': 'compute 2.53, ebbgate 1.1' };
  const listed = await fetch(`${address}/v2.1/os-services?host=compute-a`, { headers: version });
  const { services } = (await listed.json()) as { readonly services: readonly { readonly id: string }[] };
  await fetch(`${address}/v2.1/os-services/${services[0]?.id ?? ''}/drain`, {
    method: 'POST',
    headers: { ...version, 'content-type': 'application/json' },
    body: JSON.stringify({ reason: 'a new kernel' }),
  });
}

const sizes = ['--vcpus', '16', '--memory-mb', '32768'];
const limits = [
  '--boot-ms',
  '5',
  '--migration-ms',
  '8000',
  '--max-concurrent-live-migrations',
  '2',
  ...sizes,
];
const flags = ['--hosts', HOSTS.join(','), '--listen', '127.0.0.1:0', '--control', CONTROL, ...limits];
const cloud = new DaemonProcess('', ['all-in-one', '--database', 'memory:', ...flags]);
try {
  const [browser] = await Promise.all([launchChromium(), cloud.event(({ kind }) => kind === 'serves')]);
  const listens = await cloud.event(({ kind }) => kind === 'listens');
  const address = `http://127.0.0.1:${listens.kind === 'listens' ? listens.port : 0}`;
  const page = await browser.newPage({ viewport: { width: WIDTH, height: 900 }, deviceScaleFactor: 1.5 });
  await page.goto(address);
  await makeBusy(address);
  await page.getByRole('region', { name: 'Draining' }).waitFor();
  await page.locator('progress[aria-label="Move of web-1"][value^="0.5"]').waitFor();
  mkdirSync('docs/images', { recursive: true });
  const { y = 0, height = 0 } = (await page.getByRole('region', { name: 'Hosts' }).boundingBox()) ?? {};
  const clip = { x: 0, y: 0, width: WIDTH, height: y + height + 16 };
  await page.screenshot({ path: IMAGE, fullPage: true, clip });
  console.log(IMAGE);
  await browser.close();
} finally {
  cloud.child.kill('SIGKILL');
  await cloud.ended;
  rmSync(FOLDER, { recursive: true });
}

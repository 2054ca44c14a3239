import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { DaemonProcess } from '../support/daemon-process.js';
import { ensurePackages } from '../support/rigs/debian.js';
import { runCommand } from '../support/run-command.js';

const PAGE = join(process.cwd(), 'docs/services-api.md');
const BLOCK = /<!-- transcript -->\n+```console\n([\s\S]*?)```/;
const ADDRESS = '127.0.0.1:8774';

describe('documentation: the services API', function () {
  this.timeout(60_000);

  it('begins with the request of the document that asked for it, and each command prints what the page says (FD-3, FD-34, FD-35)', async () => {
    await ensurePackages(['curl']);
    const text = readFileSync(PAGE, 'utf8');
    const [first = '', ...others] = (BLOCK.exec(text)?.[1] ?? '').split('$ ').slice(1);
    expect(text.indexOf('/os-services/force-down')).to.be.below(400);
    expect(first).to.contain('{"binary": "nova-compute", "host": "host1", "forced_down": true}');
    expect(others.length).to.equal(2);
    const argv = [
      '--hosts',
      'host1,host2',
      '--listen',
      '127.0.0.1:0',
      '--control',
      'none',
      '--database',
      'memory:',
    ];
    const cloud = new DaemonProcess('', ['all-in-one', ...argv]);
    try {
      const listens = await cloud.event(({ kind }) => kind === 'listens');
      const port = listens.kind === 'listens' ? listens.port : 0;
      await cloud.event(({ kind }) => kind === 'serves');
      for (const typed of [first, ...others]) {
        const [command = '', printed = ''] = typed.split('\n');
        const ran = await runCommand('sh', ['-c', command.replace(ADDRESS, `127.0.0.1:${port}`)], '/');
        expect(ran.code, ran.stderr).to.equal(0);
        expect(ran.stdout.replaceAll(/"updated_at":"[^"]+"/g, '"updated_at":"<time>"')).to.equal(printed);
      }
    } finally {
      cloud.child.kill('SIGKILL');
      await cloud.ended;
    }
  });
});

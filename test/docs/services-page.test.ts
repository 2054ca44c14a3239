import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { DaemonProcess } from '../support/daemon-process.js';
import { eventually } from '../support/rigs/deadline.js';
import { ensurePackages } from '../support/rigs/debian.js';
import { runCommand } from '../support/run-command.js';

const PAGE = join(process.cwd(), 'docs/services-api.md');
const ADDRESS = '127.0.0.1:8774';
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

interface Typed {
  readonly command: string;
  readonly printed: string;
}

/** The commands of the block after a mark, and what the page says that each prints. */
function transcript(text: string, mark: string): readonly Typed[] {
  const [, block = ''] =
    new RegExp(`<!-- ${mark} -->\\n+\`\`\`console\\n([\\s\\S]*?)\`\`\``).exec(text) ?? [];
  return block.split('$ ').flatMap((typed) => {
    const [command = '', ...lines] = typed.trimEnd().split('\n');
    return command === '' ? [] : [{ command, printed: lines.join('\n') }];
  });
}

describe('documentation: the services API', function () {
  this.timeout(60_000);
  const text = readFileSync(PAGE, 'utf8');
  let cloud: DaemonProcess;
  let address = '';

  beforeEach(async () => {
    await ensurePackages(['curl']);
    const [, started = ''] = /`ebbgate-compute (all-in-one [^`]+)`/.exec(text) ?? [];
    const argv = started.replace(ADDRESS, '127.0.0.1:0').split(' ');
    cloud = new DaemonProcess('', [...argv, '--control', 'none']);
    const listens = await cloud.event(({ kind }) => kind === 'listens');
    address = `127.0.0.1:${listens.kind === 'listens' ? listens.port : 0}`;
    await cloud.event(({ kind }) => kind === 'serves');
  });

  afterEach(async () => {
    cloud.child.kill('SIGKILL');
    await cloud.ended;
  });

  /** What a command prints, with the address of the page. @param id - what `$ID` is */
  async function print(command: string, id = ''): Promise<string> {
    const line = command.replaceAll(ADDRESS, address).replaceAll('$ID', id);
    const { code, stdout, stderr } = await runCommand('sh', ['-c', line], '/');
    expect(code, stderr).to.equal(0);
    return stdout.replaceAll(address, ADDRESS).trimEnd();
  }

  it('begins with the request of the document that asked for it, and each command prints what the page says; it says who guarantees what, and for which hosts (FD-3, FD-4, FD-35)', async () => {
    const commands = transcript(text, 'transcript');
    expect(text.indexOf('/os-services/force-down')).to.be.below(400);
    expect(commands[0]?.command).to.contain(
      '{"binary": "nova-compute", "host": "host1", "forced_down": true}',
    );
    expect(commands.length).to.equal(3);
    expect(text).to.match(/does not look whether the host, or a guest on it,\s+still runs\. Fence first/); // FD-3
    expect(text).to.contain('It is meant for hosts with one `nova-compute`'); // FD-4
    for (const { command, printed } of commands) {
      const stdout = await print(command);
      expect(stdout.replaceAll(/"updated_at":"[^"]+"/g, '"updated_at":"<time>"')).to.equal(printed);
    }
  });

  it('has a whole host evacuated, and each command prints what the page says (FD-35)', async () => {
    const commands = transcript(text, 'evacuate');
    expect(commands.length).to.equal(2);
    const list = await print(
      `curl -s 'http://${ADDRESS}/v2.1/os-services?host=host1&binary=nova-compute' -H 'OpenStack-API-Version: compute 2.53'`,
    );
    const [id] = list.match(UUID) ?? [];
    for (const { command, printed } of commands) {
      const stdout = await print(command, id);
      expect(stdout.replaceAll(/"forced_down_at":"[^"]+"/g, '"forced_down_at":"<time>"')).to.equal(printed);
    }
  });

  it('shows the life of a server, and each command prints what the page says (FD-35)', async () => {
    const [create, ...others] = transcript(text, 'servers');
    expect(others.length).to.equal(5);
    const made = await print(create?.command ?? '');
    const [id = ''] = made.match(UUID) ?? [];
    const shown = made.replaceAll(UUID, '<id>').replace(/"adminPass":"\w+"/, '"adminPass":"<password>"');
    expect(shown).to.equal(create?.printed);
    for (const { command, printed } of others) {
      const isLook = !command.includes(' -X ');
      // What is looked at comes about in its own time.
      const look = async (): Promise<boolean> => (await print(command, id)) === printed;
      if (isLook) await eventually(command, 20_000, look).catch(() => undefined);
      expect(await print(command, id)).to.equal(printed);
    }
  });
});

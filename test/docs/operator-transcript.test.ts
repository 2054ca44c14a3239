import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { DaemonProcess } from '../support/daemon-process.js';
import { OperatorCli } from '../support/operator-cli.js';

const PAGE = join(process.cwd(), 'docs/compute.md');
const BLOCK = /<!-- transcript -->\n+```console\n([\s\S]*?)```/;
const STARTED = /`ebbgate-compute (all-in-one [^`]*--migration-ms \d+)`/;
const PROMPT = '$ ebbgate-compute ';
/** Stands for lines that are left out. */
const LEFT_OUT = '  …';

interface Typed {
  readonly argv: readonly string[];
  readonly lines: readonly string[];
}

function transcript(): readonly Typed[] {
  const block = BLOCK.exec(readFileSync(PAGE, 'utf8'))?.[1] ?? '';
  return block
    .split(PROMPT)
    .slice(1)
    .map((text) => {
      const [command = '', ...lines] = text.trimEnd().split('\n');
      return { argv: command.split(' '), lines };
    });
}

/** Ids and times are others in each run. */
function steady(line: string): string {
  return line
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
    .replace(/^ +\d+\.\d\d s/, '  <time>');
}

/** The lines between two that are left out follow one another; the first and the last are the first and the last. */
function pattern(lines: readonly string[]): RegExp {
  const escaped = lines.map((line) =>
    line === LEFT_OUT ? '(?:.*\\n)*' : `${steady(line).replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}\\n`,
  );
  return new RegExp(`^${escaped.join('')}$`);
}

describe('documentation: what an operator does', function () {
  this.timeout(60_000);

  it('each command of the transcript prints what the page says', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ebbgate-test-'));
    const control = join(folder, 'c.sock');
    const cli = new OperatorCli({ EBBGATE_CONTROL: control });
    const [, started = ''] = STARTED.exec(readFileSync(PAGE, 'utf8')) ?? [];
    const cloud = new DaemonProcess('', [...started.split(' '), '--control', control]);
    try {
      await cloud.event(({ kind }) => kind === 'serves');
      const typed = transcript();
      expect(typed.length).to.be.above(8);
      for (const one of typed) {
        const { out, err } = await cli.run(one.argv);
        const printed = (out + err).split('\n').map(steady).join('\n');
        expect(printed, one.argv.join(' ')).to.match(pattern(one.lines));
      }
    } finally {
      cloud.child.kill('SIGKILL');
      await cloud.ended;
      rmSync(folder, { recursive: true });
    }
  });
});

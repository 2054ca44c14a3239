import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { cliExitCodes } from '@ebbgate/cli';
import { HOSTILE_NAMES } from '../../support/hostile-bytes.js';
import { Prototypes } from '../../support/prototypes.js';
import { cli } from './cli-run.js';

const SECRET = 'hunter2';
const KNOWN = [
  ...[
    'call',
    'cast',
    'ping',
    'bench',
    'serve',
    'listen',
    'notify',
    'asyncapi',
    'help',
    '--help',
    '--version',
    '--',
  ],
  ...[
    '--json',
    '--topic',
    '--url',
    '--driver',
    '--timeout',
    '--context',
    '--namespace',
    '--rpc-version',
    '--verbose',
  ],
  ...[
    '--count',
    '--duration',
    '--concurrency',
    '--endpoints',
    '--contract',
    '--server',
    '--fanout',
    '--exchange',
    '-',
  ],
  ...['1e999', '-1', 'NaN', '{', '[]', '{"__proto__":{"polluted":1}}', `rabbit://u:${SECRET}@h:99999/`],
  ...[`nats://u:${SECRET}@h/`, `--url=redis+x://:${SECRET}@h`, 'memory://', '/dev/null', './absent.mjs'],
];

describe('hostile arguments of the command line', () => {
  it('end each command with a documented code and a line, without the password of a URL, and never with a crash (SEC-04, SEC-06)', async () => {
    const prototypes = new Prototypes();
    const codes: ReadonlySet<number> = new Set(Object.values(cliExitCodes));
    const word = fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...KNOWN) },
      fc.constantFrom(...HOSTILE_NAMES),
      fc.string({ unit: 'binary', maxLength: 12 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(word, { maxLength: 6 }), async (argv) => {
        const { code, stdout, stderr } = await cli(argv, { interrupted: AbortSignal.timeout(500) });
        expect(codes, `${argv.join(' ')}: ${String(code)} ${stderr}`).to.include(code);
        expect(stdout + stderr).to.not.contain(`:${SECRET}@`);
        // eslint-disable-next-line no-control-regex -- they are what must not be there
        expect(stderr).to.not.match(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
      }),
      { numRuns: 300 },
    );
    expect(prototypes.changes()).to.deep.equal([]);
  }).timeout(60_000);
});

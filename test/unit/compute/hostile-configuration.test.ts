import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { MessagingError, redactText, TransportUrl } from '@ebbgate/core';
import { createRabbitDriver } from '@ebbgate/driver-amqp';
import { createRedisDriver } from '@ebbgate/driver-redis';
import { expect } from 'chai';
import fc from 'fast-check';
import { after, before, describe, it } from 'mocha';
import { daemonCommands } from '#compute/main/daemon-commands.js';
import { readPolicyFile } from '#compute/http/policy-file.js';
import { TokenFile } from '#compute/http/token-file.js';
import { CapturedLog } from '../../support/captured-log.js';
import { BOMBS, HOSTILE_NAMES, hostileBodies } from '../../support/hostile-bytes.js';
import { Prototypes } from '../../support/prototypes.js';
import { faultSeed } from '../../support/rigs/random-faults.js';
import { type Daemon, read, READERS } from './given-flags.js';

const SECRET = 'hunter2';
const URLS = [`rabbit://u:${SECRET}@h:99999/`, `postgres://u:${SECRET}@h:x/d`, `redis://:${SECRET}@[h]/0`];
const FILES = 150;

/** What was refused, as text with all that hangs on it and as the programs print it; undefined when it was taken. */
function refusal(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    expect(error, inspect(error)).to.be.instanceOf(MessagingError);
    return redactText(inspect(error, { depth: 10 }));
  }
}

describe('hostile configuration', function () {
  this.timeout(60_000);
  const log = new CapturedLog();
  const prototypes = new Prototypes();
  let folder = '';
  let path = '';

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'ebbgate-hostile-'));
    path = join(folder, 'file');
  });
  after(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  /** Random bytes, recorded messages that are spoilt, names of members, bombs. */
  function contents(): Buffer[] {
    const names = HOSTILE_NAMES.map((name) =>
      Buffer.from(`${name} = ${name}\n[${name}]\n${name}: "${name}"`),
    );
    return [...hostileBodies(FILES, faultSeed()), ...BOMBS, ...names, Buffer.alloc(0)];
  }

  const readers: readonly (readonly [what: string, read: (path: string) => unknown])[] = [
    ['a policy file', (file) => readPolicyFile(file, log)],
    ['a token file', (file) => new TokenFile(file, log)],
    ['a configuration file', (file) => read('conductor', ['--config', file])],
    ['a certificate', (file) => rabbit(`?ssl=1&ssl_ca_file=${encodeURIComponent(file)}`)],
    ['a key', (file) => rabbit(`?ssl=1&ssl_cert_file=${encodeURIComponent(file)}`)],
    ['a certificate for Redis', (file) => redis(`?ssl_ca_file=${encodeURIComponent(file)}`)],
  ];
  for (const [what, readIt] of readers)
    it(`as ${what} is refused with an error of ours that shows nothing of it, or is taken (SEC-04, SEC-06, CORE-09)`, () => {
      let refused = 0;
      for (const content of contents()) {
        writeFileSync(path, Buffer.concat([content, Buffer.from(SECRET)]));
        const text = refusal(() => readIt(path));
        if (text === undefined) continue;
        refused += 1;
        expect(text).to.not.contain(SECRET);
      }
      expect(refused).to.be.above(FILES);
      expect(prototypes.changes()).to.deep.equal([]);
    });

  it('in the environment or on the command line is refused with one error, which never has the password of a URL (SEC-04, CORE-09)', () => {
    let refused = 0;
    for (const daemon of Object.keys(READERS) as Daemon[]) {
      for (const [flag, name] of flagsOf(daemon)) {
        for (const value of [...URLS, ...HOSTILE_NAMES.slice(0, 6), '1e999', '-1', 'NaN', '\u0000']) {
          const texts = [
            refusal(() => read(daemon, [...NEEDED[daemon], flag, value])),
            refusal(() => read(daemon, [...NEEDED[daemon]], { [name]: value })),
          ];
          for (const text of texts) {
            if (text === undefined) continue;
            refused += 1;
            expect(text, `${daemon} ${flag}`).to.not.contain(SECRET);
          }
        }
      }
    }
    expect(refused).to.be.above(100);
    expect(prototypes.changes()).to.deep.equal([]);
  });

  it('in the options of a URL is refused without their values, or is taken (SEC-04, CORE-09)', () => {
    const value = fc.oneof(fc.constantFrom(...HOSTILE_NAMES), fc.string({ unit: 'binary', maxLength: 12 }));
    const known = fc.constantFrom(
      'ssl',
      'heartbeat',
      'amqp_durable_queues',
      'kombu_compression',
      'rabbit_qos_prefetch_count',
    );
    const query = fc.array(fc.tuple(fc.oneof(known, value), value), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(query, (pairs) => {
        const text = pairs.map((pair) => pair.map(encode).join('=')).join('&');
        for (const make of [rabbit, redis]) {
          const told = refusal(() => make(`?password=${SECRET}&${text}`));
          if (told !== undefined) expect(told).to.not.contain(SECRET);
        }
      }),
      { numRuns: 500 },
    );
    expect(prototypes.changes()).to.deep.equal([]);
  });
});

const NEEDED: Readonly<Record<Daemon, readonly string[]>> = {
  compute: ['--state-dir', '/s'],
  conductor: [],
  scheduler: [],
  api: [],
  'all-in-one': ['--hosts', 'a'],
};

/** The long flags of a daemon that take a value, and their names in the environment. */
function flagsOf(daemon: Daemon): (readonly [flag: string, name: string])[] {
  const command = daemonCommands().find((one) => one.name() === daemon);
  if (!command) throw new TypeError('it is there');
  return command.options
    .filter(({ required }) => required)
    .map(({ long }) => [long ?? '', `EBBGATE_${(long ?? '').slice(2).replaceAll('-', '_').toUpperCase()}`]);
}

function rabbit(query: string): void {
  make('rabbit', createRabbitDriver(), query);
}

function redis(query: string): void {
  make('rediss', createRedisDriver(), query);
}

function make(scheme: string, driver: ReturnType<typeof createRabbitDriver>, query: string): void {
  const events = { connection: () => undefined, listener: () => undefined, error: () => undefined };
  driver.create(TransportUrl.parse(`${scheme}://u:${SECRET}@h/${scheme === 'rediss' ? '0' : ''}${query}`), {
    logger: new CapturedLog(),
    events,
  });
}

/** As it stands in a URL; half of a pair as the bytes that are none. */
function encode(text: string): string {
  return /\p{Surrogate}/u.test(text) ? '%ed%a0%80' : encodeURIComponent(text);
}

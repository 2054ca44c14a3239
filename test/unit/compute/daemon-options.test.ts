import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigurationError } from '@ebbgate/core';
import { expect } from 'chai';
import { after, describe, it } from 'mocha';
import { daemonCommands } from '#compute/main/daemon-commands.js';
import type { HostDaemonOptions } from '#compute/main/daemon-options.js';
import { hostParts } from '#compute/main/host-parts.js';
import { type Daemon, given, read, READERS } from './given-flags.js';

describe('the options of the daemons', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ebbgate-test-'));
  const file = join(folder, 'ebbgate.conf');
  after(() => {
    rmSync(folder, { recursive: true });
  });
  const config = (...lines: string[]): string => {
    writeFileSync(file, ['[DEFAULT]', ...lines].join('\n'));
    return file;
  };

  it('are refused when the supervisor does not wait as long as a drain may take (GS-85)', () => {
    const ask = (...argv: readonly string[]) => read('conductor', ['--termination-grace-period', ...argv]);
    expect(ask('181')).to.have.nested.property('budgets.gracefulShutdownTimeoutMs', 180_000);
    for (const argv of [['180'], ['30'], ['900', '--graceful-shutdown-timeout', '0']])
      expect(() => ask(...argv), argv.join()).to.throw(
        ConfigurationError,
        `A termination grace period of ${argv[0] ?? ''} s must be longer than graceful_shutdown_timeout`,
      );
    expect(() => ask('soon')).to.throw(ConfigurationError, '--termination-grace-period must be a number');
  });

  it('say how often all report, and after which time one is down: 10 and 60 seconds by default (FD-30)', () => {
    const needed = { compute: ['--state-dir', '/s'], 'all-in-one': ['--hosts', 'a'] };
    const path = config('report_interval = 5', 'service_down_time = 20');
    for (const daemon of ['compute', 'conductor', 'scheduler', 'api', 'all-in-one'] as const) {
      const argv = daemon in needed ? needed[daemon as keyof typeof needed] : [];
      expect(read(daemon, argv)).to.deep.include({ reportInterval: 10, serviceDownTime: 60 });
      const given = read(daemon, [...argv, '--config', path]);
      expect(given).to.deep.include({ reportInterval: 5, serviceDownTime: 20 });
    }
    const host = read('compute', ['--state-dir', '/s', '--report-interval', '0.5']) as HostDaemonOptions;
    expect(hostParts(host).reportIntervalMs).to.equal(500);
  });

  it('have Nova’s names for resizes and shelved instances, of hosts and conductors each', () => {
    const path = config('resize_confirm_window = 90', 'allow_resize_to_same_host = true');
    const host = read('compute', ['--state-dir', '/s', '--config', path], {
      EBBGATE_SHELVED_OFFLOAD_TIME: '-1',
    });
    expect(host).to.deep.include({ resizeConfirmWindow: 90, shelvedOffloadTime: -1 });
    const { resizeConfirmWindowMs, shelvedOffloadMs } = hostParts(host as HostDaemonOptions);
    expect([resizeConfirmWindowMs, shelvedOffloadMs]).to.deep.equal([90_000, null]);
    expect(read('conductor', ['--config', path])).to.have.property('allowResizeToSameHost', true);
    expect(read('all-in-one', ['--hosts', 'a'])).to.deep.include({
      resizeConfirmWindow: 0,
      shelvedOffloadTime: 0,
      allowResizeToSameHost: false,
    });
  });

  it('abort nothing before the deadline of a drain unless a host is told to, by flag, environment or file (GS-103)', () => {
    const argv = ['--state-dir', '/s'];
    const aborts = (more: readonly string[], env: Record<string, string> = {}): boolean | undefined =>
      hostParts(read('compute', [...argv, ...more], env) as HostDaemonOptions).abortBeforeDeadline;
    expect(aborts([])).to.equal(false);
    expect(aborts(['--abort-before-deadline'])).to.equal(true);
    expect(aborts([], { EBBGATE_ABORT_BEFORE_DEADLINE: 'true' })).to.equal(true);
    expect(aborts(['--config', config('abort_before_deadline = true')])).to.equal(true);
    expect(read('all-in-one', ['--hosts', 'a', '--abort-before-deadline'])).to.include({
      abortBeforeDeadline: true,
    });
  });

  it('come from the command line before the environment, and from that before the file', () => {
    const path = config('boot_ms = 3', 'migration_ms = 3', 'vcpus = 3', 'transport = rabbit://file/');
    const env = { EBBGATE_BOOT_MS: '2', EBBGATE_MIGRATION_MS: '2', EBBGATE_URL: 'rabbit://env/' };
    const argv = ['--state-dir', '/s', '--config', path, '--boot-ms', '1'];
    expect(read('compute', argv, env)).to.deep.include({
      bootMs: 1,
      migrationMs: 2,
      vcpus: 3,
      memoryMb: 262_144,
      transport: 'rabbit://env/',
    });
    expect(read('compute', argv)).to.deep.include({ transport: 'rabbit://file/' });
    expect(read('compute', [], { EBBGATE_CONFIG: path, EBBGATE_STATE_DIR: '/s' })).to.deep.include({
      bootMs: 3,
      stateDir: '/s',
    });
  });

  it('have the name and the default of Nova where Nova has them (migrate_max_retries)', () => {
    const path = config('migrate_max_retries = 3');
    expect(read('conductor', [])).to.deep.include({ migrateMaxRetries: -1 });
    expect(read('conductor', ['--config', path])).to.deep.include({ migrateMaxRetries: 3 });
    const argv = ['--hosts', 'a', '--config', path, '--migrate-max-retries', '-1'];
    expect(read('all-in-one', argv)).to.deep.include({ migrateMaxRetries: -1 });
    expect(() => read('conductor', ['--migrate-max-retries', '-2'])).to.throw(
      ConfigurationError,
      '--migrate-max-retries must be at least -1',
    );
  });

  it('have the address of the API as host:port, by default that of Nova on loopback', () => {
    expect(read('api', [])).to.deep.include({ listen: { host: '127.0.0.1', port: 8774 }, rateLimit: 1000 });
    expect(read('api', ['--listen', '[::1]:0'])).to.deep.include({ listen: { host: '::1', port: 0 } });
    const path = config('listen = 10.0.0.1:80', 'token_file = /t', 'policy_file = /p', 'rate_limit = 5');
    const named = { listen: { host: '10.0.0.1', port: 80 }, tokenFile: '/t', policyFile: '/p', rateLimit: 5 };
    expect(read('api', ['--config', path])).to.deep.include(named);
    expect(read('all-in-one', ['--config', path, '--hosts', 'a'])).to.deep.include(named);
    expect(read('all-in-one', ['--hosts', 'a'])).to.not.have.property('listen');
    for (const wrong of ['8774', 'host:', 'host:70000', '::1:80', '[::1]', 'a b:1']) {
      expect(() => read('api', ['--listen', wrong]), wrong).to.throw(ConfigurationError, '--listen must be');
    }
    expect(() => read('api', ['--rate-limit', '-1'])).to.throw(ConfigurationError, '--rate-limit');
  });

  it('that are true or false come from all three, too', () => {
    const path = config('ops_server = false', 'events = true', 'hosts = a');
    expect(read('all-in-one', ['--config', path])).to.deep.include({ opsServer: false, events: true });
    expect(read('all-in-one', ['--config', path], { EBBGATE_OPS_SERVER: 'yes' })).to.deep.include({
      opsServer: true,
    });
    const argv = ['--config', path, '--no-ops-server'];
    expect(read('all-in-one', argv, { EBBGATE_OPS_SERVER: 'yes', EBBGATE_EVENTS: '0' })).to.deep.include({
      opsServer: false,
      events: false,
    });
    expect(read('all-in-one', ['--hosts', 'a'])).to.deep.include({ opsServer: true, events: false });
  });

  it('can be given for every daemon by the environment, each under its own name', () => {
    for (const daemon of Object.keys(READERS) as Daemon[]) {
      const options = daemonCommands().find((one) => one.name() === daemon)?.options ?? [];
      expect(options.length).to.be.above(12);
      for (const option of options) {
        const word = option
          .attributeName()
          .replace(/[A-Z]/g, (letter) => `_${letter}`)
          .toUpperCase();
        const variable = word === 'TRANSPORT' ? 'EBBGATE_URL' : `EBBGATE_${word}`;
        const { flags, sources } = given(daemon, [], { [variable]: '1' });
        expect(Object.keys(flags), option.flags).to.deep.equal([option.attributeName()]);
        expect(sources.get(option.attributeName())).to.equal(variable);
      }
    }
  });

  it('can be in the sections of Nova that have them', () => {
    const lines = [
      'cell = cell1',
      '[database]',
      'connection = sqlite:///n',
      '[api_database]',
      'connection = sqlite:///a',
    ];
    expect(read('conductor', ['--config', config(...lines)])).to.deep.include({
      cell: 'cell1',
      database: 'sqlite:///n',
      apiDatabase: 'sqlite:///a',
    });
    expect(read('conductor', [], { EBBGATE_CELL: 'c', EBBGATE_API_DATABASE: 'sqlite:///e' })).to.deep.include(
      {
        cell: 'c',
        apiDatabase: 'sqlite:///e',
      },
    );
  });

  it('share one file: what only another daemon knows is left to that', () => {
    const path = config('state_dir = /s', 'hosts = a,b', 'workers = 3', 'service_down_time = 30');
    expect(read('conductor', ['--config', path])).to.deep.include({ workers: 3, serviceDownTime: 30 });
    expect(read('compute', ['--config', path])).to.deep.include({ serviceDownTime: 30 });
    expect(read('scheduler', ['--config', path])).to.deep.include({ workers: 3, serviceDownTime: 30 });
    expect(read('all-in-one', ['--config', path])).to.deep.include({ hosts: ['a', 'b'], stateDir: '/s' });
  });

  for (const [what, daemon, argv, env, text] of [
    ['a number', 'compute', ['--state-dir', 's', '--boot-ms', 'x'], {}, '--boot-ms must be a number'],
    [
      'the environment',
      'compute',
      ['--state-dir', 's'],
      { EBBGATE_BOOT_MS: 'x' },
      '--boot-ms must be a number (it comes from EBBGATE_BOOT_MS)',
    ],
    [
      'a word',
      'conductor',
      [],
      { EBBGATE_EVENTS: 'maybe' },
      'EBBGATE_EVENTS must be true or false, not "maybe"',
    ],
    ['what is missing', 'compute', [], {}, '--state-dir must be given: the folder of the guests'],
    ['no hosts', 'all-in-one', [], {}, '--hosts must be given: names, separated by commas'],
    ['a host twice', 'all-in-one', ['--hosts', 'a,a'], {}, '--hosts must name each host once'],
    ['no workers', 'conductor', ['--workers', '0'], {}, '--workers must be at least 1'],
    ['half a worker', 'scheduler', ['--workers', '1.5'], {}, '--workers must be a whole number'],
    ['a place', 'conductor', ['--scheduler', 'here'], {}, '--scheduler must be rpc or local'],
    [
      'budgets that do not fit (GS-70)',
      'scheduler',
      ['--manager-shutdown-timeout', '180'],
      {},
      'manager_shutdown_timeout 180 + cleanup_timeout 10 + closing_timeout 5 = 195 s must be less than',
    ],
  ] as const) {
    it(`are refused with their name: ${what}`, () => {
      expect(() => read(daemon, argv, { ...env })).to.throw(ConfigurationError, text);
    });
  }

  for (const name of ['', '..', '.conductors', 'a/../b', 'a\nb', 'a b', 'ä', 'x'.repeat(201)]) {
    it(`are refused with what a name may be: ${JSON.stringify(name.slice(0, 20))}`, () => {
      expect(() => read('compute', ['--state-dir', 'x', '--host', name])).to.throw(
        ConfigurationError,
        '--host must be letters, digits and characters of . _ -, at most 200, the first no dot',
      );
    });
  }

  it('are refused with the name of the file that they come from', () => {
    const path = config('workers = many');
    expect(() => read('conductor', ['--config', path])).to.throw(
      ConfigurationError,
      `--workers must be a number (it comes from ${path})`,
    );
  });
});

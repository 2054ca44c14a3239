import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { after, describe, it } from 'mocha';
import { brokerAt } from '#compute/main/broker.js';
import { daemonCommands } from '#compute/main/daemon-commands.js';
import { givenFlags } from '#compute/main/daemon-flags.js';
import {
  readAllInOneOptions,
  readComputeOptions,
  readConductorOptions,
  readSchedulerOptions,
} from '#compute/main/daemon-options.js';
import { operatorCommands } from '#compute/main/operator-commands.js';
import { readReach } from '#compute/main/operator-reach.js';
import { readJobOptions } from '#compute/main-job/job-options.js';
import { ConfigurationError, silentLogger } from '@ebbgate/core';

type Environment = Readonly<Record<string, string>>;
interface Given {
  readonly exchange: string;
}

function daemon(name: string, reader: (flags: unknown) => Given, needed: readonly string[] = []) {
  return (argv: readonly string[], env: Environment): Given => {
    const command = daemonCommands().find((one) => one.name() === name);
    if (!command) throw new TypeError('it is there');
    command.action(() => undefined);
    command.parse([...needed, ...argv], { from: 'user' });
    return reader(givenFlags(command, env).flags);
  };
}

const READERS = {
  compute: daemon('compute', readComputeOptions, ['--state-dir', '/s']),
  conductor: daemon('conductor', readConductorOptions),
  scheduler: daemon('scheduler', readSchedulerOptions),
  'all-in-one': daemon('all-in-one', readAllInOneOptions, ['--hosts', 'a']),
  'an operator': (argv: readonly string[], env: Environment): Given => {
    const group = operatorCommands(() => undefined).find((one) => one.name() === 'instance');
    const command = group?.commands.find((one) => one.name() === 'list');
    if (!command) throw new TypeError('it is there');
    command.action(() => undefined);
    command.parse([...argv], { from: 'user' });
    return readReach(command, env);
  },
};

describe('the exchange of a cloud', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ebbgate-test-'));
  after(() => {
    rmSync(folder, { recursive: true });
  });

  for (const [who, read] of Object.entries(READERS)) {
    it(`is told to ${who} by flag, environment or file, and is nova otherwise`, () => {
      const path = join(folder, 'exchange.conf');
      writeFileSync(path, '[DEFAULT]\nexchange = file\n');
      const env = { EBBGATE_EXCHANGE: 'env' };
      const found = [
        read(['--config', path, '--exchange', 'flag'], env),
        read(['--config', path], env),
        read(['--config', path], {}),
        read([], {}),
      ];
      expect(found.map(({ exchange }) => exchange)).to.deep.equal(['flag', 'env', 'file', 'nova']);
      expect(() => read(['--exchange', 'a b'], {})).to.throw(ConfigurationError, '--exchange');
    });
  }

  it('is told to the main job by a flag, and is nova otherwise', () => {
    expect(readJobOptions({ exchange: 'other' }).exchange).to.equal('other');
    expect(readJobOptions({}).exchange).to.equal('nova');
  });

  it('is where the transports of daemons send to', async () => {
    const { exchange } = READERS.conductor(['--exchange', 'other'], {});
    const transport = (await brokerAt('memory://exchange-option/', { exchange }))(silentLogger);
    expect(transport.controlExchange).to.equal('other');
    await transport.close();
  });
});

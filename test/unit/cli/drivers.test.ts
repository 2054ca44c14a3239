import { join } from 'node:path';
import { memoryDriver, TransportUrl } from '@ebbgate/core';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { driversFor } from '#cli/drivers.js';
import { outsideDriver } from '../../support/fixtures/cli-driver.js';

const cwd = join(import.meta.dirname, '../../support/fixtures');
const rabbit = TransportUrl.parse('rabbit://u:s3cret@host/');

async function failure(promise: Promise<unknown>): Promise<Error & { code?: string }> {
  return promise.then(
    () => expect.fail('it was taken'),
    (error: unknown) => error as Error,
  );
}

describe('drivers by name and by scheme', () => {
  it('finds the drivers of a file by their shape', async () => {
    const drivers = await driversFor(TransportUrl.parse('outside:'), ['./cli-driver.js'], cwd);
    expect(drivers.map(({ name }) => name)).to.have.members(['outside', 'denied']);
  });

  it('needs none for memory:', async () => {
    expect(await driversFor(TransportUrl.parse('memory:'), [], cwd)).to.deep.equal([]);
  });

  it('finds a package as the current folder sees it', async () => {
    const drivers = await driversFor(TransportUrl.parse('memory:'), ['@ebbgate/core'], cwd);
    expect(drivers).to.include(memoryDriver);
  });

  it('imports the package of a scheme that it knows, when that is installed', async () => {
    const factory = { ...outsideDriver, name: 'rabbit', schemes: ['rabbit'] };
    const drivers = await driversFor(rabbit, [], cwd, (name) => {
      expect(name).to.equal('@ebbgate/driver-amqp');
      return Promise.resolve(new Map([['rabbitDriver', factory]]));
    });
    expect(drivers).to.deep.equal([factory]);
  });

  it('has the drivers of RabbitMQ with it, and says of a scheme that a package does not serve that it does not', async () => {
    const drivers = await driversFor(rabbit, [], cwd);
    expect(drivers.map(({ name }) => name)).to.deep.equal(['amqp10', 'rabbit']);
    const factory = { ...outsideDriver, schemes: ['rabbit'] };
    const older = (): Promise<ReadonlyMap<string, unknown>> =>
      Promise.resolve(new Map([['rabbitDriver', factory]]));
    const error = await failure(driversFor(TransportUrl.parse('amqp10://host/'), [], cwd, older));
    expect(error.message).to.include('@ebbgate/driver-amqp is installed').and.not.include('npm install');
  });

  it('prefers a driver that was given to the one that it knows', async () => {
    const factory = { ...outsideDriver, schemes: ['rabbit'] };
    const drivers = await driversFor(rabbit, ['mine'], cwd, (name) =>
      Promise.resolve(name === 'mine' ? new Map([['default', factory]]) : undefined),
    );
    expect(drivers).to.deep.equal([factory]);
  });

  it('refuses two drivers for one scheme, and one for memory:', async () => {
    const load = (name: string) =>
      Promise.resolve(
        new Map([[name, { ...outsideDriver, name, schemes: [name === 'third' ? 'memory' : 'one'] }]]),
      );
    const url = TransportUrl.parse('one:');
    expect((await failure(driversFor(url, ['first', 'second'], cwd, load))).message).to.include(
      'Two drivers, first and second, serve the scheme "one"',
    );
    expect((await failure(driversFor(url, ['third'], cwd, load))).message).to.include('memory and third');
  });

  for (const [scheme, name] of [
    ['rabbit', 'driver-amqp'],
    ['amqps', 'driver-amqp'],
    ['amqp10', 'driver-amqp'],
    ['rediss', 'driver-redis'],
    ['redis+sentinel', 'driver-redis'],
  ] as const) {
    it(`says which package to install for ${scheme}:`, async () => {
      const url = TransportUrl.parse(`${scheme}://u:s3cret@host/`);
      const error = await failure(driversFor(url, [], cwd, () => Promise.resolve(undefined)));
      expect(error.message).to.include(`npm install @ebbgate/${name}`).and.not.include('s3cret');
      expect(error.code).to.equal('ERR_DRIVER_LOAD');
    });
  }

  it('says how to name the package of a scheme that it does not know', async () => {
    const error = await failure(driversFor(TransportUrl.parse('nats:'), ['./cli-driver.js'], cwd));
    expect(error.message)
      .to.include('"nats:"')
      .and.include('memory, denied, outside')
      .and.include('--driver PACKAGE');
  });

  it('says that a package is not there, holds no driver, or cannot be loaded', async () => {
    const url = TransportUrl.parse('nats:');
    expect((await failure(driversFor(url, ['@ebbgate/absent-driver'], cwd))).message).to.include(
      'npm install @ebbgate/absent-driver',
    );
    expect((await failure(driversFor(url, ['@ebbgate/service'], cwd))).message).to.match(
      /exports no driver.*Service/,
    );
    expect((await failure(driversFor(url, ['./absent.js'], cwd))).message).to.include(
      './absent.js cannot be loaded',
    );
  });
});

import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import * as core from '@ebbgate/core';
import {
  MessageDeliveryError,
  MessagingError,
  MessagingTimeoutError,
  ServerWaitTimeoutError,
} from '@ebbgate/core';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';

type Core = typeof core;

/** All error classes by name. */
function classesOf(module: object): Map<string, typeof MessagingError> {
  const isError = (value: unknown): value is typeof MessagingError =>
    typeof value === 'function' && value.prototype instanceof Error;
  return new Map(
    Object.entries(module).filter((entry): entry is [string, typeof MessagingError] => isError(entry[1])),
  );
}

/** One error of each class; the arguments are those that most take. */
function make(type: typeof MessagingError): MessagingError {
  const [first, second]: unknown[] =
    type.name === 'ServerWaitTimeoutError' ? ['text', { running: 1, released: 2 }] : ['text'];
  return Reflect.construct(type, [first, second]) as MessagingError;
}

describe('the errors', () => {
  const here = dirname(fileURLToPath(import.meta.resolve('@ebbgate/core')));
  let folder = '';
  let other: Core;

  before(async () => {
    folder = mkdtempSync(fileURLToPath(new URL('second-copy-', import.meta.url)));
    cpSync(here, folder, { recursive: true });
    mkdirSync(join(folder, 'node_modules'));
    const dependency = createRequire(join(here, 'index.js')).resolve('eventemitter3/package.json');
    symlinkSync(dirname(dependency), join(folder, 'node_modules/eventemitter3'));
    other = (await import(pathToFileURL(join(folder, 'index.js')).href)) as Core; // a copy of the package
  });

  after(() => rmSync(folder, { recursive: true }));

  it('are known as instances across two copies of the package, of their class and those above, and of no other', () => {
    expect(other.MessagingError).to.not.equal(MessagingError);
    const mine = classesOf(core);
    const theirs = classesOf(other);
    expect([...theirs.keys()]).to.have.members([...mine.keys()]);
    for (const [name, type] of theirs) {
      const error = make(type);
      for (const [otherName, otherType] of mine) {
        const isOne = otherName === name || otherName === 'MessagingError';
        expect(error instanceof otherType, `${name} instanceof ${otherName}`).to.equal(isOne);
      }
    }
  });

  it('are no instances of what they only look like', () => {
    for (const value of [
      undefined,
      null,
      'x',
      7,
      {},
      new Error('x'),
      { kind: 'MessagingError' },
      { code: 'ERR_TIMEOUT' },
    ]) {
      expect(value instanceof MessagingError).to.equal(false);
    }
  });

  it('may be extended by a class without a brand, whose instances are only its own', () => {
    class OwnError extends MessagingError {}
    const own = new OwnError('x');
    expect(
      own instanceof OwnError && own instanceof MessagingError && own instanceof other.MessagingError,
    ).to.equal(true);
    expect(new MessagingError('x') instanceof OwnError).to.equal(false);
    expect(new MessagingTimeoutError('x') instanceof OwnError).to.equal(false);
  });

  it('have a name, a stable code, an outcome and their cause, and show no machinery', () => {
    const cause = new Error('below');
    const error = new MessageDeliveryError('not sent', { cause, outcome: 'unknown' });
    expect(error).to.include({
      name: 'MessageDeliveryError',
      code: 'ERR_DELIVERY',
      outcome: 'unknown',
      cause,
    });
    expect(JSON.parse(JSON.stringify(error))).to.deep.equal({ code: 'ERR_DELIVERY', outcome: 'unknown' });
    expect(Object.keys(error)).to.have.members(['code', 'outcome']);
    expect(inspect(error))
      .to.match(/^MessageDeliveryError: not sent/)
      .and.not.include('Symbol(');
    expect('cause' in new MessagingError('x')).to.equal(false);
  });

  it('say whether the request may have run, if nobody says otherwise', () => {
    expect(new MessageDeliveryError('x').outcome).to.equal('not-sent');
    expect(new MessagingTimeoutError('x').outcome).to.equal('unknown');
    expect(new ServerWaitTimeoutError('x', { running: 3, released: 2 })).to.include({
      running: 3,
      released: 2,
    });
  });

  it('keep the code of their class, whatever options they are given', () => {
    const options = { code: 'ERR_OTHER' } as object;
    for (const [name, type] of classesOf(core)) {
      if (name === 'MessagingError' || name === 'ServerWaitTimeoutError' || name === 'InvalidTargetError')
        continue;
      expect(new type('x', options).code, name).to.not.equal('ERR_OTHER');
    }
  });
});

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as compute from '@ebbgate/compute';
import * as core from '@ebbgate/core';
import { MessagingError } from '@ebbgate/core';
import * as rpc from '@ebbgate/rpc';
import { expect } from 'chai';
import { describe, it } from 'mocha';

type ErrorType = typeof MessagingError;

interface Section {
  readonly code: string;
  readonly text: string;
}

/** What the constructors take; a text for all others. */
const ARGUMENTS: ReadonlyMap<string, unknown[]> = new Map<string, unknown[]>([
  ['ServerWaitTimeoutError', ['text', { running: 0, released: 0 }]],
  ['RemoteError', [{ remoteType: 'Type', remoteMessage: 'text' }]],
  ['RpcVersionCapError', ['2.0', '1.0']],
  ['ValidationError', ['method', []]],
  ['FieldUnsetError', ['Instance', 'host']],
  ['RecordNotFoundError', ['instance', 'id']],
]);

const document = readFileSync(fileURLToPath(new URL('../../../../docs/errors.md', import.meta.url)), 'utf8');

/** By the chain of classes: `instanceof` asks for the brand, which only instances have. */
const isErrorType = (value: unknown): value is ErrorType =>
  value === MessagingError ||
  (typeof value === 'function' && Object.prototype.isPrototypeOf.call(MessagingError, value));

function exported(module: object): Map<string, MessagingError> {
  const types = Object.entries(module).filter((entry): entry is [string, ErrorType] => isErrorType(entry[1]));
  return new Map(
    types.map(([name, type]) => [
      name,
      Reflect.construct(type, ARGUMENTS.get(name) ?? ['text']) as MessagingError,
    ]),
  );
}

/** The sections of one part of the document by the class that they name. */
function documented(part: string): Map<string, Section> {
  const [, text = ''] = document.split(`\n## Of \`${part}\`\n`);
  const [own = ''] = text.split(/\n## /);
  const sections = own.split('\n### ').slice(1);
  return new Map(
    sections.map((section) => {
      const [, name = section, code = ''] = /^`(\w+)` · `(ERR_[A-Z_]+)`\n/.exec(section) ?? [];
      return [name, { code, text: section }];
    }),
  );
}

describe('docs/errors.md', () => {
  for (const [part, module] of [
    ['@ebbgate/core', core],
    ['@ebbgate/rpc', rpc],
    ['@ebbgate/compute', compute],
  ] as const) {
    const errors = exported(module);
    const sections = documented(part);

    it(`has every error class of ${part}, and none that does not exist`, () => {
      expect(errors.size).to.be.greaterThan(5);
      expect([...sections.keys()].sort()).to.deep.equal([...errors.keys()].sort());
    });

    for (const [name, error] of errors) {
      it(`has the code of ${name}, its outcome, what to do and its counterpart`, () => {
        const section = sections.get(name);
        expect(section?.code).to.equal(error.code);
        expect(section?.text).to.include(`- **Outcome**: \`${error.outcome}\``);
        expect(section?.text)
          .to.match(/^- \*\*What to do\*\*: \S/m)
          .and.match(/^- \*\*oslo\.messaging\*\*: (?:none|`\w+`)$/m);
        expect(section?.text.split('\n\n')[1], 'what it means').to.match(/^[A-Z`]/);
      });
    }
  }

  it('gives no code twice', () => {
    const codes = [...document.matchAll(/^### `\w+` · `(\w+)`$/gm)].map(([, code]) => code);
    expect(new Set(codes).size).to.equal(codes.length);
  });
});

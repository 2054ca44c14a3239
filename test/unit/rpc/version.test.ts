import { readFileSync } from 'node:fs';
import { ConfigurationError } from '@ebbgate/core';
import { RpcVersionCapError, UnsupportedVersionError } from '#rpc/errors.js';
import { capAllows, checkCap, checkVersion, isCompatible, parseVersion } from '#rpc/version.js';
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';

interface Vector {
  readonly implemented: string | null;
  readonly requested: string | null;
  readonly result?: boolean;
  readonly error?: string;
}

const file = new URL('../../../../test/fixtures/oslo/vectors/versions.json', import.meta.url);
const vectors = JSON.parse(readFileSync(file, 'utf8')) as readonly Vector[]; // recorded, of this shape

const part = fc.nat({ max: 1000 });
const triple = fc.tuple(part, part, part);
const text = (parts: readonly number[]): string => parts.join('.');

describe('version compatibility', () => {
  for (const { implemented, requested, result, error } of vectors) {
    const title = `${JSON.stringify(implemented)} serves ${JSON.stringify(requested)}: ${error ?? String(result)} (RPC-11)`;
    it(title, () => {
      if (error === undefined) expect(isCompatible(implemented, requested)).to.equal(result);
      else
        expect(() => isCompatible(implemented, requested)).to.throw(
          UnsupportedVersionError,
          'needs a major and a minor integer',
        );
    });
  }

  it('takes undefined as null', () => {
    expect(isCompatible(undefined, '1.0')).to.equal(true);
    expect(isCompatible('1.0', undefined)).to.equal(false);
  });

  it('refuses what only Python reads as an integer', () => {
    for (const odd of ['+1.0', '-1.0', '1_0.0', '1.0_0', '١.٠', '0x1.0', '1e1.0', `1.${'9'.repeat(30)}`]) {
      expect(() => isCompatible('1.0', odd), odd).to.throw(UnsupportedVersionError);
    }
  });

  it('compares numbers and not text', () => {
    fc.assert(
      fc.property(part, part, part, (major, implemented, requested) => {
        expect(isCompatible(text([major, implemented]), text([major, requested]))).to.equal(
          requested <= implemented,
        );
      }),
    );
  });

  it('is reflexive', () => {
    fc.assert(fc.property(triple, (version) => isCompatible(text(version), text(version))));
  });

  it('is antisymmetric: two versions that serve each other are equal', () => {
    const near = fc.tuple(fc.nat({ max: 2 }), fc.nat({ max: 3 }), fc.nat({ max: 3 }));
    fc.assert(
      fc.property(near, near, (a, b) => {
        if (isCompatible(text(a), text(b)) && isCompatible(text(b), text(a))) expect(a).to.deep.equal(b);
      }),
    );
  });

  it('is transitive', () => {
    const near = fc.tuple(fc.nat({ max: 1 }), fc.nat({ max: 3 }), fc.nat({ max: 3 }));
    fc.assert(
      fc.property(near, near, near, (a, b, c) => {
        if (isCompatible(text(a), text(b)) && isCompatible(text(b), text(c))) {
          expect(isCompatible(text(a), text(c))).to.equal(true);
        }
      }),
    );
  });

  it('never crosses major versions', () => {
    fc.assert(
      fc.property(triple, triple, (a, b) => {
        fc.pre(a[0] !== b[0]);
        expect(isCompatible(text(a), text(b))).to.equal(false);
      }),
    );
  });

  it('gives the same answer for any text again and again, however many versions peers send', () => {
    for (let minor = 0; minor < 2000; minor += 1)
      expect(isCompatible('1.1000', `1.${String(minor)}`)).to.equal(minor <= 1000);
    expect(parseVersion('1.7')).to.deep.equal({ major: 1, minor: 7, revision: 0 });
  });

  it('shows only the beginning of what a peer sent as its version', () => {
    expect(() => isCompatible('1.0', 'x'.repeat(1e6)))
      .to.throw(UnsupportedVersionError)
      .with.property('message')
      .of.length.below(300);
  });
});

describe('checking a version', () => {
  it('gives back what is a version', () => {
    for (const good of ['1.0', '1.10', '2.0.1', '01.00']) expect(checkVersion(good)).to.equal(good);
  });

  it('names what is none', () => {
    for (const bad of ['1', '', 'one', '1.x', '1.2.x', '.1']) {
      expect(() => checkVersion(bad), bad).to.throw(
        ConfigurationError,
        `Version must contain a major and minor integer. Got ${bad}`,
      );
    }
  });

  it('refuses a number', () => {
    const number = 1.5 as unknown as string; // as JavaScript would give it
    expect(() => checkVersion(number)).to.throw(ConfigurationError, 'Got a value of type number');
  });
});

describe('version caps', () => {
  it('allow anything when there is none', () => {
    expect(capAllows(undefined, undefined)).to.equal(true);
    expect(capAllows(undefined, '99.9')).to.equal(true);
    expect(() => checkCap(undefined, undefined)).not.to.throw();
  });

  it('refuse no version, an unreadable one, another major and a higher minor (RPC-11)', () => {
    for (const version of [undefined, null, 'x', '1', '2.0', '0.9', '1.11'])
      expect(capAllows('1.10', version)).to.equal(false);
    for (const version of ['1.0', '1.9', '1.10']) expect(capAllows('1.10', version)).to.equal(true);
  });

  it('name the version, the cap and why (RPC-11)', () => {
    expect(() => checkCap('1.2', '1.10'))
      .to.throw(RpcVersionCapError, /1\.10 .*cap 1\.2: it needs the same major and no higher minor/)
      .that.includes({ code: 'ERR_VERSION_CAP', version: '1.10', versionCap: '1.2', outcome: 'not-sent' });
    expect(() => checkCap('1.2', undefined)).to.throw(RpcVersionCapError, 'No RPC version was given');
  });
});
